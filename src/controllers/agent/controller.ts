import type { Agent } from '#api/agent.ts';
import type { ConfigMap, ObjectMeta, Secret } from '#api/meta.ts';
import { secretsSecretName } from '#api/secrets.ts';
import { unimplementedFields } from '#api/unimplemented.ts';
import { validateObject } from '#api/validate.ts';
import type { Driver } from '#drivers/driver.ts';
import type { Clock } from '#kit/clock.ts';
import type { Log } from '#kit/log.ts';
import { oncePerObject } from '#kit/memo.ts';
import type { Random } from '#kit/random.ts';
import type { CacheEvent } from '#kube/cache.ts';
import type { Client } from '#kube/client.ts';
import { type Controller, createController } from '#kube/controller.ts';
import type { EventRecorder } from '#kube/events.ts';
import type { Informer } from '#kube/informer.ts';
import type { ObjectKey } from '#kube/key.ts';
import { type Metrics, noMetrics } from '#kube/metrics.ts';
import { settled } from '#kube/result.ts';
import { callbackSource, exceptStatus, informerSource } from '#kube/sources.ts';
import { followChanges } from '#wire/changes.ts';
import { handOver } from '#wire/hand-over.ts';
import { type MasterKey, masterKeysFromSecret, masterSecretName } from '#wire/keys.ts';
import { authProblemOf, secretsOf } from '../auth/references.ts';
import { isTrue } from '../conditions.ts';
import type { TaskListener } from '../task/listener.ts';
import { blockedIn, type NamespaceAccess } from './access.ts';
import type { AliasSource } from './aliases.ts';
import type { HostSettings } from './desired.ts';
import type { AgentFacts, Refusal, RuntimeChoice } from './facts.ts';
import {
  codeMapOf,
  codeReferences,
  gatherDependencies,
  gatherEnvironment,
  type References,
} from './gather.ts';
import { gatherUpstream, upstreamReferences } from './gather-upstream.ts';
import { createHandOvers } from './hand-overs.ts';
import { createAgentReconciler, type Memory } from './reconcile.ts';
import { createAgentReports } from './reports.ts';
import { chooseRuntime, type KnownDriver } from './runtime.ts';
import { createTaskMetrics } from './task-metrics.ts';
import { unsupportedFields } from './unsupported.ts';
import { createUpgrades } from './upgrades.ts';

const dependencyIndex = 'dependsOn';
const secretIndex = 'secret';
const configMapIndex = 'configMap';

/** Agents by what they depend on, so that a change of one finds the others; for the Agent informer. */
export const agentIndexes = {
  [dependencyIndex]: (agent: Agent) =>
    named(
      agent,
      agent.spec.dependsOn?.map(({ name }) => name),
    ),
  [secretIndex]: (agent: Agent) =>
    named(agent, [
      ...referencesOf(agent).map((ref) => ref?.secretKeyRef?.name),
      secretOfAliases(agent),
      ...secretsOf(askingOf(agent)),
    ]),
  [configMapIndex]: (agent: Agent) =>
    named(agent, [...referencesOf(agent).map((ref) => ref?.configMapKeyRef?.name), codeMapOf(agent)]),
};

/** Whether anything of its environment is looked up by name. */
function usesAliases({ spec }: Agent): boolean {
  return spec.env?.some(({ valueFrom }) => valueFrom?.alias !== undefined) ?? false;
}

function secretOfAliases(agent: Agent): string | undefined {
  return usesAliases(agent) ? secretsSecretName : undefined;
}

function askingOf({ spec, metadata }: Agent) {
  return { auth: spec.auth, namespace: metadata.namespace ?? '', name: metadata.name };
}

function referencesOf(agent: Agent) {
  const variables = (agent.spec.env ?? []).map(({ valueFrom }) => valueFrom);
  return [...variables, ...codeReferences(agent), ...upstreamReferences(agent)];
}

export interface AgentControllerOptions {
  readonly client: Client;
  readonly agents: Informer<Agent>;
  readonly secrets: Informer<Secret>;
  readonly configMaps: Informer<ConfigMap>;
  readonly drivers: readonly Driver[];
  readonly host: HostSettings;
  readonly events: EventRecorder;
  /** Where Secrets and ConfigMaps are read a namespace at a time. Default: `secrets` and `configMaps` know them all. */
  readonly access?: NamespaceAccess;
  /** Namespace of the master key's Secret. */
  readonly homeNamespace: string;
  /** Where names are looked up that a namespace's Secret does not have. Default: nowhere. */
  readonly aliases?: AliasSources;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics?: Metrics;
  /** Agents reconciled at the same time. Default 8. */
  readonly concurrency?: number;
  /** Who is told what agent-servers say of tasks. */
  readonly taskListener?: TaskListener;
  /** How long an answer of `driver.available()` is believed, in milliseconds. Default 30,000. */
  readonly availabilityMs?: number;
}

/** What a workspace has besides its API. */
export interface AliasSources {
  readonly sources: readonly AliasSource[];
  /** Calls back when they may say something else. Returns the stop function. */
  onChange(listener: () => void): () => void;
}

/** Agents → workloads. Watches Agents, what they refer to, the drivers and the agent-servers' change streams. */
export function createAgentController(options: AgentControllerOptions): Controller {
  const { agents, clock, random, log } = options;
  let reported: (key: ObjectKey) => void = () => undefined;
  const reports = createAgentReports({
    open: followChanges,
    clock,
    random,
    log,
    onChange: (id) => reported(id),
    tasks: options.taskListener,
    queues: createTaskMetrics(options.metrics ?? noMetrics),
  });
  const handOvers = createHandOvers({ send: handOver, clock, random, log });
  const uids = new Map<string, string>();
  const reconciler = createAgentReconciler({
    client: options.client,
    drivers: options.drivers,
    reports,
    handOvers,
    host: options.host,
    events: options.events,
    upgrades: createUpgrades(),
    observe: agents.observe,
    gather: createGather(options, (uid) => reports.get(uid)),
  });
  const controller = createController({
    name: 'agent',
    concurrency: options.concurrency ?? 8,
    clock,
    random,
    log,
    ...(options.metrics && { metrics: options.metrics }),
    sources: createSources(options, (enqueue) => {
      reported = enqueue;
    }),
    async reconcile(key) {
      const agent = agents.cache.get(key);
      const name = `${key.namespace}/${key.name}`;
      const uid = uids.get(name);
      if (uid !== undefined && uid !== agent?.metadata.uid) {
        if (!(await reconciler.forget({ ...key, uid }))) return settled;
        uids.delete(name);
      }
      if (agent === undefined) return settled;
      uids.set(name, agent.metadata.uid ?? '');
      return reconciler.reconcile(agent);
    },
  });
  return {
    ...bind(controller),
    async stop(stopOptions) {
      await controller.stop(stopOptions);
      reports.close();
      handOvers.close();
    },
  };
}

function bind(controller: Controller): Controller {
  return {
    name: controller.name,
    start: () => controller.start(),
    enqueue: (key) => controller.enqueue(key),
    stop: (stopOptions) => controller.stop(stopOptions),
  };
}

function createSources(
  options: AgentControllerOptions,
  onEnqueue: (enqueue: (key: ObjectKey) => void) => void,
): Parameters<typeof createController>[0]['sources'] {
  const { agents, secrets, configMaps, drivers } = options;
  return [
    informerSource(agents, { when: exceptStatus, first: isNew }),
    informerSource(agents, {
      when: readinessChanged,
      keys: (event) => filedUnder(agents, dependencyIndex, event),
    }),
    informerSource(secrets, { keys: (event) => agentsOfSecret(options, event) }),
    informerSource(configMaps, { keys: (event) => filedUnder(agents, configMapIndex, event) }),
    ...drivers.map((driver) => callbackSource((enqueue) => driver.watch(enqueue))),
    callbackSource((enqueue) => {
      onEnqueue(enqueue);
      return () => onEnqueue(() => undefined);
    }),
    callbackSource(
      (enqueue) =>
        options.aliases?.onChange(() => {
          for (const agent of agents.cache.list()) if (usesAliases(agent)) enqueue(keyOfMeta(agent));
        }) ?? nothing,
    ),
    callbackSource(
      (enqueue) => options.access?.secrets.onAccess(enqueueAgentsOf(agents, enqueue)) ?? nothing,
    ),
  ];
}

/** In a burst, whoever has nothing yet goes ahead of those whose second status is due. */
function isNew(event: CacheEvent<Agent>): boolean {
  return event.old === undefined && event.object.status === undefined;
}

const nothing = () => undefined;

function enqueueAgentsOf(agents: Informer<Agent>, enqueue: (key: ObjectKey) => void) {
  return (namespace: string) => {
    for (const key of agents.cache.list().map(keyOfMeta)) if (key.namespace === namespace) enqueue(key);
  };
}

/** A new master key concerns every Agent. */
function agentsOfSecret(options: AgentControllerOptions, event: CacheEvent<Secret>): ObjectKey[] {
  const { name, namespace } = event.object.metadata;
  const isMaster = name === masterSecretName && namespace === options.homeNamespace;
  if (isMaster) return options.agents.cache.list().map(keyOfMeta);
  return filedUnder(options.agents, secretIndex, event);
}

function filedUnder(
  agents: Informer<Agent>,
  index: string,
  { object }: CacheEvent<{ metadata: ObjectMeta }>,
): ObjectKey[] {
  const value = `${object.metadata.namespace ?? ''}/${object.metadata.name}`;
  return agents.cache.byIndex(index, value).map(keyOfMeta);
}

function keyOfMeta({ metadata }: { metadata: ObjectMeta }): ObjectKey {
  return { namespace: metadata.namespace ?? '', name: metadata.name };
}

function readinessChanged({ object, old, type }: CacheEvent<Agent>): boolean {
  if (type !== 'updated') return true;
  return isTrue(object.status?.conditions, 'Ready') !== isTrue(old?.status?.conditions, 'Ready');
}

function named(agent: Agent, names: readonly (string | undefined)[] | undefined): string[] {
  const namespace = agent.metadata.namespace ?? '';
  return (names ?? []).flatMap((name) => (name === undefined ? [] : [`${namespace}/${name}`]));
}

type Gather = (agent: Agent, memory: Memory) => Promise<AgentFacts>;

/** Reads what is known, once enough of the namespace is: see `blockedIn`. */
export function createGather(
  options: AgentControllerOptions,
  reportsOf: (uid: string) => AgentFacts['reports'],
): Gather {
  const references = referencesIn(options);
  const known = createAvailabilities(options);
  const judged = new WeakMap<Memory, Judged>();
  return async (agent, memory) => ({
    agent,
    // Before anything is looked up in a namespace whose objects may be on their way.
    blocked: await blockedIn(agent.metadata.namespace ?? '', options),
    ...refusedOrRun(
      agent,
      refusalsIn(agent, judged, memory),
      chooseRuntime(agent.spec.runtime.class, await known()),
    ),
    ...gatherValues(agent, references),
    dependencies: gatherDependencies(agent, references),
    authProblem: authProblemOf(askingOf(agent), references),
    masterKeys: masterKeysIn(options),
    history: memory.history,
    observed: memory.observed,
    reports: reportsOf(agent.metadata.uid ?? ''),
    now: options.clock.now(),
  });
}

function gatherValues(agent: Agent, references: References): Pick<AgentFacts, 'environment' | 'upstream'> {
  const environment = gatherEnvironment(agent, references);
  const { values, missing } = gatherUpstream(agent, references);
  return {
    environment: { ...environment, missing: [...environment.missing, ...missing] },
    upstream: values,
  };
}

function refusedOrRun(
  agent: Agent,
  refusals: readonly Refusal[],
  runtime: RuntimeChoice,
): Pick<AgentFacts, 'refusals' | 'runtime'> {
  const unsupported = runtime.ok ? unsupportedFields(agent.spec, runtime.class) : [];
  return { runtime, refusals: [...refusals, ...unsupported] };
}

/** Judged once a generation: every status makes another object of the same spec. */
function refusalsIn(agent: Agent, judged: WeakMap<Memory, Judged>, memory: Memory): readonly Refusal[] {
  const { generation } = agent.metadata;
  const last = judged.get(memory);
  if (last !== undefined && last.generation === generation) return last.refusals;
  const refusals = refusalsOf(agent);
  if (generation !== undefined) judged.set(memory, { generation, refusals });
  return refusals;
}

interface Judged {
  readonly generation: number;
  readonly refusals: readonly Refusal[];
}

/** What neither the schema's server nor its CEL rules could refuse when the object was written. */
function refusalsOf(agent: Agent): Refusal[] {
  const invalid = validateObject('Agent', agent).map((error) => ({ error, reason: 'Invalid' as const }));
  const missing = unimplementedFields('Agent', agent.spec).map((error) => ({
    error,
    reason: 'NotImplemented' as const,
  }));
  return [...invalid, ...missing].map(({ reason, error }) => ({
    reason,
    message: `${error.path} ${error.message}.`,
  }));
}

function referencesIn(options: AgentControllerOptions): References {
  const { agents, secrets, configMaps, aliases } = options;
  return {
    ...(aliases && { aliasSources: aliases.sources }),
    masterKey: () => masterKeysIn(options)[0],
    agent: (namespace, name) => agents.cache.get({ namespace, name }),
    secret: (namespace, name) => secrets.cache.get({ namespace, name }),
    configMap: (namespace, name) => configMaps.cache.get({ namespace, name }),
  };
}

function masterKeysIn({ secrets, homeNamespace }: AgentControllerOptions): MasterKey[] {
  const secret = secrets.cache.get({ namespace: homeNamespace, name: masterSecretName });
  return secret === undefined ? [] : masterKeysOf(secret);
}

/** The same objects from the same Secret, by which keys that are derived from them are known again. */
const masterKeysOf = oncePerObject(masterKeysFromSecret);

/** Asks the drivers whether they can run here, and again when the answer has aged: somebody may have installed one. */
function createAvailabilities(options: AgentControllerOptions): () => Promise<readonly KnownDriver[]> {
  const maxAge = options.availabilityMs ?? 30_000;
  let asked = Number.NEGATIVE_INFINITY;
  let answer: Promise<readonly KnownDriver[]> = Promise.resolve([]);
  return () => {
    const now = options.clock.monotonic();
    if (now - asked < maxAge) return answer;
    asked = now;
    answer = Promise.all(
      options.drivers.map(async (driver) => ({ name: driver.name, availability: await driver.available() })),
    );
    return answer;
  };
}
