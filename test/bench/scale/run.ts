import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Agent } from '#api/agent.ts';
import { findCondition } from '#api/conditions.ts';
import { agentResource } from '#api/resources.ts';
import { systemClock } from '#kit/clock.ts';
import { silentLog } from '#kit/log.ts';
import { systemRandom } from '#kit/random.ts';
import type { Client } from '#kube/client.ts';
import { createInformer } from '#kube/informer.ts';
import { type BenchApi, startApi } from '../harness/api.ts';
import { residentMiB } from '../harness/machine.ts';
import { type Scope, type Started, until } from '../harness/scope.ts';
import type { ControllerFacts } from './controller.ts';
import type { Counts } from './counting.ts';

export interface ScaleOptions {
  readonly agents: number;
  /** Creations a second. Default: as fast as the API takes them. */
  readonly perSecond?: number;
  /** How long nothing may be written once all is settled. */
  readonly idleMs: number;
  /** Longest wait until every Agent is Ready. */
  readonly timeoutMs: number;
}

export interface ScaleOutcome {
  /** Seconds from the first creation: to the last one, and to the last Agent being Ready. */
  readonly createdSeconds: number;
  readonly readySeconds: number;
  /** The controller's writes until all was settled, by kind and method. */
  readonly writes: Counts;
  /** Reconciles of Agents until then. */
  readonly reconciles: number;
  readonly ensureCalls: number;
  /** Writes of anybody in the idle time, by the API's own resourceVersion, and requests of the controller that failed. */
  readonly idleWrites: number;
  readonly failedRequests: Counts;
  readonly apiserverMiB: number;
  /** Resident before the first Agent. */
  readonly bareMiB: number;
  /** Resident after a collection; `heap` is the part in use. */
  readonly controllerMiB: number;
  readonly controllerHeapMiB: number;
}

/**
 * Agents by the hundred against the real API process and the real controllers; what they run is in memory, but each
 * has an agent-server that proves itself and reports, so an Agent is Ready only when its whole way has been gone.
 */
export async function runScale(scope: Scope, options: ScaleOptions): Promise<ScaleOutcome> {
  const api = await startApi(scope);
  const controller = await startController(scope, api);
  const ready = await followReady(scope, api.client, options);
  const begun = performance.now();
  await createAgents(api.client, options);
  const createdSeconds = (performance.now() - begun) / 1000;
  await ready.all;
  const readySeconds = (performance.now() - begun) / 1000;
  await settled(api.client);
  const facts = await controller.ask();
  const before = await version(api.client);
  await systemClock.sleep(options.idleMs);
  const idleWrites = (await version(api.client)) - before;
  return {
    createdSeconds,
    readySeconds,
    writes: facts.writes,
    reconciles: sum(facts.counters, /^controller_runtime_reconcile_total\{agent,/),
    ensureCalls: facts.ensureCalls,
    idleWrites,
    failedRequests: pick(facts.counters, /^rest_client_requests_total\{([45]\d\d|<error>),/),
    apiserverMiB: residentMiB(api.apiserver.pid),
    bareMiB: controller.first.rss / 1_048_576,
    controllerMiB: facts.rss / 1_048_576,
    controllerHeapMiB: facts.heapUsed / 1_048_576,
  };
}

async function startController(
  scope: Scope,
  api: BenchApi,
): Promise<Started & { readonly first: ControllerFacts; ask(): Promise<ControllerFacts> }> {
  const folder = join(scope.folder, 'a');
  mkdirSync(folder);
  const script = join(import.meta.dirname, 'controller.ts');
  const started = scope.start(script, [api.paths.apiSocket, folder], {
    ipc: true,
    nodeFlags: ['--expose-gc'],
  });
  const next = async () => {
    const [facts] = await Promise.race([
      once(started.process, 'message'),
      once(started.process, 'exit').then(() => {
        throw new Error('the controller ended');
      }),
    ]);
    return facts as ControllerFacts;
  };
  return {
    ...started,
    first: await next(),
    async ask() {
      const answer = next();
      started.process.send('facts');
      return answer;
    },
  };
}

async function followReady(
  scope: Scope,
  client: Client,
  { agents, timeoutMs }: ScaleOptions,
): Promise<{ readonly all: Promise<void> }> {
  const informer = createInformer<Agent>({
    client,
    resource: agentResource,
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
  });
  const done = Promise.withResolvers<void>();
  const ready = new Set<string>();
  informer.cache.subscribe(({ object }) => {
    if (isReady(object)) ready.add(object.metadata.name);
    if (ready.size === agents) done.resolve();
  });
  scope.defer(() => informer.stop());
  informer.start();
  await informer.synced;
  const cancel = systemClock.after(timeoutMs, () =>
    done.reject(new Error(`${ready.size} of ${agents} agents are Ready after ${timeoutMs} ms`)),
  );
  scope.defer(cancel);
  return { all: done.promise.finally(cancel) };
}

function isReady({ metadata, status }: Agent): boolean {
  const condition = findCondition(status?.conditions, 'Ready');
  return condition?.status === 'True' && condition.observedGeneration === metadata.generation;
}

async function createAgents(client: Client, { agents, perSecond }: ScaleOptions): Promise<void> {
  const begun = performance.now();
  let next = 0;
  const work = async () => {
    for (let index = next++; index < agents; index = next++) {
      const due = perSecond === undefined ? 0 : begun + (index * 1000) / perSecond - performance.now();
      if (due > 0) await systemClock.sleep(due);
      await client.create<Agent>(agentResource, agentNumber(index));
    }
  };
  await Promise.all(Array.from({ length: 16 }, work));
}

function agentNumber(index: number): Agent {
  return {
    apiVersion: 'ploinky.dev/v1alpha1',
    kind: 'Agent',
    metadata: { name: `agent-${index}`, namespace: 'default' },
    spec: {
      env: [{ name: 'INDEX', value: String(index) }],
      mcp: { tools: [{ name: `tool-${index}`, command: ['/bin/cat'] }] },
    },
  } as Agent;
}

/** Waits for late Events: until nothing was written for two seconds. */
async function settled(client: Client): Promise<void> {
  let last = -1;
  await until(
    'the API is quiet',
    async () => {
      const now = await version(client);
      const isQuiet = now === last;
      last = now;
      if (isQuiet) return true;
      await systemClock.sleep(2_000);
      return undefined;
    },
    30_000,
  );
}

/** The API's version, which every write of any object raises by one. */
async function version(client: Client): Promise<number> {
  const list = await client.list<Agent>(agentResource, { limit: 1 });
  return Number(list.metadata?.resourceVersion);
}

function sum(counts: Counts, pattern: RegExp): number {
  return Object.values(pick(counts, pattern)).reduce((total, value) => total + value, 0);
}

function pick(counts: Counts, pattern: RegExp): Counts {
  return Object.fromEntries(Object.entries(counts).filter(([name]) => pattern.test(name)));
}
