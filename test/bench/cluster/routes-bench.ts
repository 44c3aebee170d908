import { setTimeout as sleep } from 'node:timers/promises';
import type { Agent } from '#api/agent.ts';
import type { KubeObject, Resource } from '#api/meta.ts';
import { agentResource, leaseResource, routeResource } from '#api/resources.ts';
import type { Route } from '#api/route.ts';
import { systemClock } from '#kit/clock.ts';
import { silentLog } from '#kit/log.ts';
import { systemRandom } from '#kit/random.ts';
import type { Client } from '#kube/client.ts';
import { createInformer } from '#kube/informer.ts';
import type { Bench, BenchResult, Goal } from '../harness/bench.ts';
import { until } from '../harness/scope.ts';
import { ascending, percentile } from '../harness/stats.ts';
import { inParallel, removeAll } from './agents.ts';
import { isWrite } from './audit-log.ts';
import { type Program, startController, startRouter } from './programs.ts';
import type { Stage } from './stage.ts';

export interface RoutesOptions {
  /** How many there are while each is changed in turn. */
  readonly routes: number;
  readonly mostRoutes: number;
}

const target = 'nobody';
const fieldManager = 'bench';
const mebibyte = 1_048_576;

interface Changes {
  /** Milliseconds from the answer of the write to the first right answer of the router, ascending. */
  readonly delays: readonly number[];
  readonly applies: readonly number[];
  /** Milliseconds from the answer of the write until a client that only watches was told of it, ascending. */
  readonly told: readonly number[];
}

interface Most {
  readonly createdSeconds: number;
  /** From the last write's answer. */
  readonly servedSeconds: number;
  readonly served: number;
  readonly rejected: readonly string[];
  readonly largestKiB: number;
  readonly routerMiB: number;
}

/**
 * How fast a router follows the API, with a controller that writes what became of each Route meanwhile; and whether
 * thousands of Routes fit. The agent behind them is suspended: its answer is 503 where a Route is, and 404 where none.
 */
export function routesBench(stage: () => Stage, { routes, mostRoutes }: RoutesOptions): Bench {
  return {
    name: 'cluster-routes',
    about: `${routes} Routes changed one by one until a router serves each; ${mostRoutes} Routes at once`,
    goals: [
      'P23-mean-ms',
      'P23-max-ms',
      'P26-routes-served',
      'P26-rejected-writes',
      'P26-largest-object-kib',
    ],
    async run(scope) {
      const here = stage();
      const controller = await startController(scope, here);
      const router = await startRouter(scope, here, { name: 'bench-routes' });
      await until('the router has a table', async () => (await router.isReady()) || undefined, 30_000);
      await createTarget(here);
      const alone = await measureChanges(here, router, routes);
      const most = await measureMost(here, router, routes, mostRoutes);
      const cpu = { controller: controller.usage().cpuSeconds, router: router.usage().cpuSeconds };
      await Promise.all([router.stop(), controller.stop()]);
      await removeRoutes(here);
      return judge({ routes, mostRoutes }, alone, most, cpu, here);
    },
  };
}

async function createTarget({ client, home }: Stage): Promise<void> {
  await client.apply<Agent>(
    agentResource,
    {
      apiVersion: 'ploinky.dev/v1alpha1',
      kind: 'Agent',
      metadata: { name: target, namespace: home },
      spec: { runtime: { replicas: 0 } },
    } as unknown as Agent,
    { fieldManager },
  );
}

/** In the home namespace, whose Routes need nobody's leave. */
function routeNumber(namespace: string, index: number, version: number): Route {
  return {
    apiVersion: 'ploinky.dev/v1alpha1',
    kind: 'Route',
    metadata: { name: `route-${index}`, namespace },
    spec: { agents: [{ name: target }], paths: [pathOf(index, version)], api: {} },
  } as unknown as Route;
}

function pathOf(index: number, version: number): string {
  return `/r${index}/v${version}`;
}

function apply({ client, home }: Stage, index: number, version: number): Promise<Route> {
  return client.apply<Route>(routeResource, routeNumber(home, index, version), { fieldManager });
}

async function isServed({ port }: Program, index: number, version: number): Promise<boolean> {
  const response = await fetch(`http://127.0.0.1:${port}${pathOf(index, version)}/apis/${target}/x`);
  await response.arrayBuffer();
  return response.status === 503;
}

async function measureChanges(stage: Stage, router: Program, count: number): Promise<Changes> {
  await inParallel({ count }, (index) => apply(stage, index, 0));
  for (let index = 0; index < count; index += 1)
    await until('the Routes are served', async () => (await isServed(router, index, 0)) || undefined, 60_000);
  const delays: number[] = [];
  const applies: number[] = [];
  const written: { readonly version: string; readonly at: number }[] = [];
  const bystander = await watchRoutes(stage);
  for (let index = 0; index < count; index += 1) {
    const begun = performance.now();
    const route = await apply(stage, index, 1);
    const at = performance.now();
    while (!(await isServed(router, index, 1))) {
      if (performance.now() - at > 30_000) throw new Error(`Route ${index} is not served after 30 s`);
      // Who asks without a pause takes a core from those whom it measures.
      await sleep(1);
    }
    delays.push(performance.now() - at);
    applies.push(at - begun);
    written.push({ version: route.metadata.resourceVersion ?? '', at });
  }
  const told = written.map(({ version, at }) =>
    Math.max(0, (bystander.toldAt.get(version) ?? Number.NaN) - at),
  );
  await bystander.stop();
  return { delays: delays.sort(ascending), applies: applies.sort(ascending), told: told.sort(ascending) };
}

/** Somebody who does nothing but listen: what passes until it hears of a write is the API server's share. */
async function watchRoutes({ client, home }: Stage) {
  const toldAt = new Map<string, number>();
  const informer = createInformer<Route>({
    client,
    resource: routeResource,
    namespace: home,
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
  });
  informer.cache.subscribe(({ object }) =>
    toldAt.set(object.metadata.resourceVersion ?? '', performance.now()),
  );
  informer.start();
  await informer.synced;
  return { toldAt, stop: () => informer.stop() };
}

async function measureMost(stage: Stage, router: Program, there: number, most: number): Promise<Most> {
  const { audit } = stage;
  const mark = 'missing' in audit ? 0 : audit.mark();
  const begun = performance.now();
  const rejected: string[] = [];
  await inParallel({ count: most - there }, (index) =>
    apply(stage, there + index, 1).catch((error: Error) => rejected.push(error.message)),
  );
  const createdSeconds = (performance.now() - begun) / 1000;
  let served = 0;
  const written = performance.now();
  for (let index = 0; index < most; index += 1) {
    const ask = async () => (await isServed(router, index, 1)) || undefined;
    const isThere = await until('the Route is served', ask, 20_000).catch(() => false);
    if (isThere) served += 1;
    else break;
  }
  const servedSeconds = (performance.now() - written) / 1000;
  const entries = 'missing' in audit ? [] : await audit.since(mark);
  // A conflict is how two writers find out about each other; it is written again.
  const refused = entries.filter((entry) => isWrite(entry) && entry.code >= 400 && entry.code !== 409);
  rejected.push(...refused.map(({ agent, verb, resource, code }) => `${agent} ${verb} ${resource}: ${code}`));
  return {
    createdSeconds,
    servedSeconds,
    served,
    rejected,
    largestKiB: await largestObject(stage),
    routerMiB: (await router.heap()).rss / mebibyte,
  };
}

/** Of all that the product's programs wrote where the Routes are. */
async function largestObject({ client, home }: Stage): Promise<number> {
  const sizes = [routeResource, agentResource, leaseResource].map((resource) =>
    largestOf(client, resource, home),
  );
  return Math.max(...(await Promise.all(sizes))) / 1024;
}

async function largestOf(client: Client, resource: Resource, namespace: string): Promise<number> {
  const { items } = await client.list<KubeObject>(resource, { namespace });
  return Math.max(0, ...items.map((item) => Buffer.byteLength(JSON.stringify(item))));
}

async function removeRoutes(stage: Stage): Promise<void> {
  const base = `/apis/ploinky.dev/v1alpha1/namespaces/${stage.home}`;
  await removeAll(stage, `${base}/routes`, routeResource, stage.home);
  await removeAll(stage, `${base}/agents`, agentResource, stage.home);
}

function judge(
  { routes, mostRoutes }: RoutesOptions,
  { delays, applies, told }: Changes,
  most: Most,
  cpu: { readonly controller: number; readonly router: number },
  { audit }: Stage,
): BenchResult {
  const mean = delays.reduce((sum, delay) => sum + delay, 0) / delays.length;
  const max = delays.at(-1) ?? Number.NaN;
  const goal = (name: string, op: Goal['op'], target: number, unit: string, value: Goal['value']): Goal => ({
    name,
    op,
    target,
    unit,
    value,
  });
  return {
    tables: [
      {
        title: `${routes} Routes, each changed in turn`,
        columns: ['ms', 'p50', 'mean', 'p99', 'max'],
        rows: [
          [
            'from the write’s answer until served',
            percentile(delays, 0.5),
            mean,
            percentile(delays, 0.99),
            max,
          ],
          [
            'of these, until the API server told a watcher',
            percentile(told, 0.5),
            told.reduce((sum, one) => sum + one, 0) / told.length,
            percentile(told, 0.99),
            told.at(-1) ?? 0,
          ],
          ['the write itself', percentile(applies, 0.5), '', percentile(applies, 0.99), applies.at(-1) ?? 0],
        ],
      },
      {
        title: `${mostRoutes} Routes`,
        columns: ['', 'value'],
        rows: [
          ['seconds until created', most.createdSeconds],
          ['seconds until each was seen served', most.servedSeconds],
          ['served', most.served],
          ['writes that were refused', most.rejected.length],
          ['KiB of the largest object', most.largestKiB],
          ['MiB resident: router, after a collection', most.routerMiB],
          ['CPU seconds in all: router', cpu.router],
          ['CPU seconds in all: controller', cpu.controller],
        ],
      },
    ],
    goals: [
      goal('P23-mean-ms', '<=', 15, 'ms', mean),
      goal('P23-max-ms', '<=', 50, 'ms', max),
      goal('P26-routes-served', '>=', mostRoutes, '', most.served),
      goal(
        'P26-rejected-writes',
        '<=',
        0,
        '',
        'missing' in audit ? { skipped: audit.missing } : most.rejected.length,
      ),
      goal('P26-largest-object-kib', '<=', 1024, 'KiB', most.largestKiB),
    ],
    samples: { delays, applies, told, most, cpu },
  };
}
