import type { Agent } from '#api/agent.ts';
import { unimplementedFields } from '#api/unimplemented.ts';
import { validateObject } from '#api/validate.ts';
import { oncePerObject } from '#kit/memo.ts';
import { type MasterKey, masterKeysFromSecret, masterSecretName } from '#wire/keys.ts';
import { authProblemOf } from '../auth/references.ts';
import { blockedIn } from './access.ts';
import type { AgentFacts, Refusal, RuntimeChoice } from './facts.ts';
import { gatherDependencies, gatherEnvironment, type References } from './gather.ts';
import { gatherUpstream } from './gather-upstream.ts';
import { askingOf } from './indexes.ts';
import type { AgentControllerOptions } from './options.ts';
import type { Memory } from './reconcile.ts';
import { chooseRuntime, type KnownDriver } from './runtime.ts';
import { unsupportedFields } from './unsupported.ts';

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
