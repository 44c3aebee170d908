import type { Agent, AgentSpec } from '#api/agent.ts';
import { installEgress, runEgress } from '#api/egress.ts';
import { restartAnnotation } from '#api/labels.ts';
import type { CodeSource, InstallStep, Workload } from '#drivers/workload.ts';
import { digestOf } from '#kit/digest.ts';
import { type AgentIdentity, deriveAgentKey, egressToken, type MasterKey, principalOf } from '#wire/keys.ts';
import { blobsOf } from './blob-limits.ts';
import type { AgentFacts } from './facts.ts';
import { parseQuantity } from './quantity.ts';
import { queueLimits } from './queue-limits.ts';

/** Part of every spec hash; a change of what workloads look like that needs a restart raises it. */
const templateRevision = 1;
/** Processes and threads a workload may have when `spec.runtime.resources.limits.pids` says nothing. */
const defaultPidsLimit = 512;
const defaultInstallTimeoutSeconds = 600;

/** What desired() takes from its process rather than from the Agent. */
export interface HostSettings {
  /** Absolute folder that `spec.code.path` is relative to. */
  readonly codeRoot: string;
}

/** Pure. The Workload of an accepted Agent. The facts must hold a runtime and a master key. */
export function desired(facts: AgentFacts, host: HostSettings): Workload {
  const { agent, runtime } = facts;
  const [current] = facts.masterKeys;
  if (!runtime.ok || current === undefined) throw new Error('desired() needs a runtime and a master key');
  const { spec } = agent;
  const id = identityOf(agent);
  const code = codeOf(spec, host);
  return {
    id,
    specHash: specHash(facts, runtime.class),
    runtime: {
      class: runtime.class,
      ...(spec.runtime.image === undefined ? {} : { image: spec.runtime.image }),
      replicas: spec.runtime.replicas,
      limits: limitsOf(spec),
      resources: spec.runtime.resources ?? {},
    },
    role: spec.role ?? id.name,
    code,
    install: installOf(facts, code, id, current),
    agentServer: agentServerOf(facts, id),
    storage: spec.storage,
    ...(spec.podTemplate === undefined ? {} : { podTemplate: spec.podTemplate }),
    egress: runEgress(spec),
    egressToken: egressToken(current, id, 'run'),
    ...(code?.type === 'git' ? { fetchToken: egressToken(current, id, 'install') } : {}),
  };
}

export function identityOf(agent: Agent): AgentIdentity {
  const { namespace = 'default', name, uid = '' } = agent.metadata;
  return { namespace, name, uid };
}

/**
 * Everything whose change needs a new sandbox. Egress rules are not in it: the proxy follows them while the
 * agent runs. Nor is what only says who does a Task. Referenced values are in it by their revision.
 */
function specHash(facts: AgentFacts, runtimeClass: string): string {
  const {
    network: _network,
    dependsOn: _dependsOn,
    capabilities: _capabilities,
    runtime,
    ...rest
  } = facts.agent.spec;
  const { image, resources } = runtime;
  return digestOf({
    templateRevision,
    runtime: { class: runtimeClass, image, resources },
    rest,
    environment: facts.environment.revision,
    // A pod's agent-server takes up a new key while it runs.
    keys: runtimeClass === 'Pod' ? [] : facts.masterKeys.map((key) => key.kid),
    restart: facts.agent.metadata.annotations?.[restartAnnotation],
  });
}

function limitsOf(spec: AgentSpec): Workload['runtime']['limits'] {
  const limits = spec.runtime.resources?.limits ?? {};
  const memory = limits['memory'] === undefined ? undefined : parseQuantity(limits['memory']);
  const cpu = limits['cpu'] === undefined ? undefined : parseQuantity(limits['cpu']);
  const pids = limits['pids'] === undefined ? undefined : parseQuantity(limits['pids']);
  const files = limits['files'] === undefined ? undefined : parseQuantity(limits['files']);
  return {
    ...(memory === undefined ? {} : { memoryBytes: memory }),
    ...(cpu === undefined ? {} : { cpu }),
    ...(files === undefined ? {} : { files }),
    pids: pids ?? defaultPidsLimit,
  };
}

function codeOf({ code }: AgentSpec, host: HostSettings): CodeSource | undefined {
  if (code?.path !== undefined) {
    return { type: 'path', path: resolveInside(host.codeRoot, code.path), writable: code.writable };
  }
  if (code?.inline !== undefined) return { type: 'inline', files: code.inline };
  if (code?.git !== undefined) return { type: 'git', ...code.git };
  if (code?.image !== undefined) return { type: 'image', ...code.image };
  if (code?.configMap !== undefined) return { type: 'configMap', ...code.configMap };
  if (code?.pvc !== undefined) return { type: 'pvc', ...code.pvc };
  return undefined;
}

/**
 * Agents share what a step leaves only when they have the same code as well: the step reads it, so another's could
 * put its own modules under this one's command. What changes inside a code folder is not seen.
 */
function installOf(
  { agent: { spec }, runtime }: AgentFacts,
  code: CodeSource | undefined,
  id: AgentIdentity,
  key: MasterKey,
): InstallStep | undefined {
  const command = spec.lifecycle?.install;
  if (command === undefined || carriesItsInstall(spec, runtime)) return undefined;
  const egress = installEgress(spec);
  return {
    command,
    env: {},
    egress,
    egressToken: egressToken(key, id, 'install'),
    timeoutSeconds: spec.lifecycle?.installTimeoutSeconds ?? defaultInstallTimeoutSeconds,
    digest: digestOf({ templateRevision, command, code }),
  };
}

/** An image carries what the step would fetch; where there is no image the step runs. */
function carriesItsInstall(spec: AgentSpec, runtime: AgentFacts['runtime']): boolean {
  return runtime.ok && runtime.class === 'Pod' && spec.runtime.image !== undefined;
}

function agentServerOf(facts: AgentFacts, id: AgentIdentity): Workload['agentServer'] {
  const { spec } = facts.agent;
  const keys = facts.masterKeys.map((master) => deriveAgentKey(master, id));
  const [current] = keys;
  return {
    version: 1,
    agent: { ...id, principal: principalOf(id.namespace, id.name) },
    keys: keys.map(({ kid, secret }) => ({ kid, secret: secret.toString('base64url') })),
    ...(spec.mcp === undefined ? {} : { mcp: spec.mcp }),
    ...(facts.upstream === undefined ? {} : { upstream: facts.upstream }),
    env: {
      ...facts.environment.values,
      ...(current === undefined ? {} : { PLOINKY_DERIVED_MASTER_KEY: current.secret.toString('hex') }),
    },
    secretEnv: [...facts.environment.secrets, 'PLOINKY_DERIVED_MASTER_KEY'],
    ...(spec.command === undefined ? {} : { command: spec.command }),
    limits: queueLimits(spec),
    ...blobsOf(spec),
  };
}

/** Joins a workspace-relative path; the API has refused absolute paths and `..`. */
function resolveInside(root: string, path: string): string {
  return path === '.' ? root : `${root}/${path.replace(/^\.\//, '')}`;
}
