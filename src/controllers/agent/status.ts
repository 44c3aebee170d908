import type { AgentStatus } from '#api/agent.ts';
import { setCondition } from '#api/conditions.ts';
import { agentLabel } from '#api/labels.ts';
import type { Condition } from '#api/meta.ts';
import type { Observed, ObservedInstance } from '#drivers/workload.ts';
import type { Verdict } from './decide.ts';
import type { AgentFacts, AgentReport } from './facts.ts';
import { isHalted } from './history.ts';

interface Finding {
  readonly status: Condition['status'];
  readonly reason: string;
  readonly message: string;
}

/**
 * Pure. The whole status of an Agent: from what was decided, what the driver saw and what the agent-server
 * said. Equal inputs give an equal status, whatever `facts.now` is: times move only when a condition does.
 */
export function statusOf(facts: AgentFacts, verdict: Verdict, observed: Observed | undefined): AgentStatus {
  const { agent } = facts;
  if (verdict.action === 'leave' && observed === undefined && hasEndpoints(agent.status)) {
    return leftAsItWas(facts, verdict, agent.status);
  }
  const reports = currentReports(facts.reports, observed);
  const endpoints = endpointsOf(facts, observed, reports);
  const answering = endpoints.filter((endpoint) => endpoint.ready).length;
  const ready = readyOf({ facts, verdict, observed, reports, answering });
  return {
    ...(agent.metadata.generation === undefined ? {} : { observedGeneration: agent.metadata.generation }),
    conditions: conditionsOf(facts, verdict, observed, ready),
    ...(facts.runtime.ok ? { runtime: facts.runtime.class } : {}),
    replicas: observed?.instances.filter((instance) => instance.exit === undefined).length ?? 0,
    selector: `${agentLabel}=${agent.metadata.name}`,
    restarts: facts.history.restarts,
    endpoints,
    ...describeTools(facts, reportsOf(endpoints, reports)),
    ...(observed?.codeRevision === undefined ? {} : { codeRevision: observed.codeRevision }),
  };
}

function hasEndpoints(status: AgentStatus | undefined): status is AgentStatus {
  return (status?.endpoints ?? []).length > 0;
}

/**
 * For a controller that has looked at nothing yet: routers go by the endpoints, and what served before it came is
 * served on. What it lacks itself is told beside that; what passes in a moment is not.
 */
function leftAsItWas(
  { agent, now }: AgentFacts,
  { reason, message }: Verdict,
  before: AgentStatus,
): AgentStatus {
  if (reason === 'Starting') return before;
  const { generation } = agent.metadata;
  const observedGeneration = generation === undefined ? {} : { observedGeneration: generation };
  const degraded = { type: 'Degraded', status: 'True' as const, reason, message, ...observedGeneration };
  return { ...before, conditions: [...setCondition(before.conditions ?? [], degraded, new Date(now))] };
}

/** Reports count only for instances that run now. */
function currentReports(reports: readonly AgentReport[], observed: Observed | undefined): AgentReport[] {
  const running = new Set(live(observed).map(({ uid }) => uid));
  return reports.filter(({ instance }) => running.has(instance));
}

function live(observed: Observed | undefined): readonly ObservedInstance[] {
  return observed?.instances.filter((instance) => instance.exit === undefined) ?? [];
}

/** What an agent-server says before its pod takes calls is told together with that it does: one write, not two. */
function reportsOf(
  endpoints: NonNullable<AgentStatus['endpoints']>,
  reports: readonly AgentReport[],
): AgentReport[] {
  return reports.filter(({ instance }) => endpoints.some(({ uid }) => uid === instance));
}

/** What is known of the tools stays known while the agent is away: columns and tables do not flicker. */
function describeTools(facts: AgentFacts, reports: readonly AgentReport[]): Partial<AgentStatus> {
  // The newest instance's, should they differ while a spec is being rolled out.
  const report = reports.findLast((candidate) => candidate.ready);
  if (report !== undefined) {
    const { toolCount, toolsDigest, version } = report;
    return { toolCount, toolsDigest, agentServerVersion: version };
  }
  const { toolCount, toolsDigest, agentServerVersion } = facts.agent.status ?? {};
  return {
    ...(toolCount === undefined ? {} : { toolCount }),
    ...(toolsDigest === undefined ? {} : { toolsDigest }),
    ...(agentServerVersion === undefined ? {} : { agentServerVersion }),
  };
}

/**
 * Where the instances answer. A pod that does not take calls is listed only when it was listed before: its address
 * alone is news to nobody.
 */
function endpointsOf(
  { agent }: AgentFacts,
  observed: Observed | undefined,
  reports: readonly AgentReport[],
): NonNullable<AgentStatus['endpoints']> {
  const listed = new Set(agent.status?.endpoints?.map(({ uid }) => uid));
  return live(observed)
    .filter(({ address, ready, uid }) => address !== '' && (ready !== false || listed.has(uid)))
    .map(({ name, uid, address, terminating, ready }) => ({
      name,
      uid,
      address,
      terminating,
      ready: !terminating && (ready ?? reports.some((report) => report.instance === uid && report.ready)),
    }));
}

interface Seen {
  readonly facts: AgentFacts;
  readonly verdict: Verdict;
  readonly observed: Observed | undefined;
  readonly reports: readonly AgentReport[];
  /** How many instances take calls. */
  readonly answering: number;
}

/** Ready says whether calls are answered; how many of the replicas are as they should be is Progressing's business. */
function readyOf(seen: Seen): Finding {
  const { verdict, observed } = seen;
  const no = (reason: string, message: string): Finding => ({ status: 'False', reason, message });
  const runs = observed?.phase === 'Running';
  // Why it ended tells more than that it is not started yet.
  if (verdict.reason === 'BackOff' && observed?.phase === 'Failed' && observed.reason !== undefined) {
    return no(observed.reason, observed.message);
  }
  if (verdict.action !== 'run' && !(verdict.action === 'hold' && runs)) {
    return no(verdict.reason, verdict.message);
  }
  if (seen.answering > 0) return answers(seen);
  if (observed?.fault !== undefined) return no(observed.fault.reason, observed.fault.message);
  switch (observed?.phase) {
    case 'Running':
      return notAnswering(seen.reports);
    case 'Installing':
      return no('Installing', observed.message);
    case 'Failed':
      return no(observed.reason ?? 'BackOff', observed.message);
    default:
      return no('Starting', 'The agent is being started.');
  }
}

function answers({ facts, reports, answering }: Seen): Finding {
  const problems = reports.find(({ reason }) => reason === 'ConfigProblems');
  if (problems !== undefined) {
    return { status: 'True', reason: 'ConfigProblems', message: problems.message };
  }
  const { replicas } = facts.agent.spec.runtime;
  const message = replicas > 1 ? `${answering} of ${replicas} replicas answer.` : 'The agent answers.';
  return { status: 'True', reason: 'Ready', message };
}

function notAnswering(reports: readonly AgentReport[]): Finding {
  const report = reports.find(({ ready }) => !ready);
  if (report === undefined) {
    return { status: 'False', reason: 'Starting', message: 'The agent is being started.' };
  }
  return { status: 'False', reason: report.reason || 'UpstreamNotReady', message: report.message };
}

function conditionsOf(
  facts: AgentFacts,
  verdict: Verdict,
  observed: Observed | undefined,
  ready: Finding,
): Condition[] {
  const findings: Record<string, Finding> = {
    Accepted: acceptedOf(verdict),
    Ready: ready,
    Progressing: progressingOf(facts, verdict, observed, ready),
    Degraded: orNobodyCanLogIn(facts, degradedOf(verdict, observed, ready)),
    Halted: haltedOf(facts, verdict),
  };
  const { generation } = facts.agent.metadata;
  const at = new Date(facts.now);
  let conditions: readonly Condition[] = facts.agent.status?.conditions ?? [];
  for (const [type, finding] of Object.entries(findings)) {
    const observedGeneration = generation === undefined ? {} : { observedGeneration: generation };
    conditions = setCondition(conditions, { type, ...finding, ...observedGeneration }, at);
  }
  return [...conditions];
}

function acceptedOf(verdict: Verdict): Finding {
  if (verdict.action === 'refuse') {
    return { status: 'False', reason: verdict.reason, message: verdict.message };
  }
  return { status: 'True', reason: 'Accepted', message: 'The spec is accepted.' };
}

const settledReasons = new Set([
  'DriverUnavailable',
  'ReplicasNotSupported',
  'DependencyCycle',
  'SecretMissing',
  'Forbidden',
]);

/** Said by the agent-server of a workload that runs. */
const serverFaults = new Set([
  'ConfigProblems',
  'ConfigInvalid',
  'UpstreamNotReady',
  'UpstreamNotAllowed',
  'UpstreamUnauthorized',
]);

function progressingOf(
  { agent }: AgentFacts,
  verdict: Verdict,
  observed: Observed | undefined,
  ready: Finding,
): Finding {
  if (ready.status === 'True') {
    const { replicas } = agent.spec.runtime;
    const { current = replicas } = observed ?? {};
    const isSettled = current === replicas && live(observed).length <= replicas;
    if (isSettled) return { status: 'False', reason: 'Ready', message: 'Nothing is being changed.' };
    const message = `${current} of ${replicas} replicas are of the newest spec and answer.`;
    return { status: 'True', reason: 'Updating', message };
  }
  const stopped = verdict.action === 'stop' && (observed === undefined || observed.phase === 'Absent');
  const stands =
    verdict.action === 'refuse' || verdict.reason === 'CrashLoop' || settledReasons.has(verdict.reason);
  const moves = !stopped && !stands;
  return { status: moves ? 'True' : 'False', reason: ready.reason, message: ready.message };
}

function degradedOf(verdict: Verdict, observed: Observed | undefined, ready: Finding): Finding {
  if (observed?.phase === 'Failed' || verdict.reason === 'BackOff' || verdict.reason === 'CrashLoop') {
    const told = observed?.phase === 'Failed' ? observed.message : '';
    return { status: 'True', reason: ready.reason, message: told || ready.message };
  }
  if (observed?.fault !== undefined) return { status: 'True', ...observed.fault };
  if (serverFaults.has(ready.reason)) return { ...ready, status: 'True' };
  if (settledReasons.has(verdict.reason))
    return { status: 'True', reason: verdict.reason, message: verdict.message };
  if (observed !== undefined && observed.phase !== 'Absent' && !observed.limitsEnforced) {
    const message = observed.limitsMessage ?? 'Memory and process limits cannot be enforced here.';
    return { status: 'True', reason: 'LimitsNotEnforced', message };
  }
  return { status: 'False', reason: 'AsExpected', message: 'Nothing is wrong.' };
}

/** The agent runs, and whoever reached it by another Route still does; what is broken besides goes first. */
function orNobodyCanLogIn({ authProblem, blocked }: AgentFacts, degraded: Finding): Finding {
  if (authProblem === undefined || blocked !== undefined || degraded.status === 'True') return degraded;
  return { status: 'True', reason: 'UsersMissing', message: authProblem };
}

function haltedOf(facts: AgentFacts, verdict: Verdict): Finding {
  if (isHalted(facts.history)) return { status: 'True', reason: 'CrashLoop', message: verdict.message };
  return { status: 'False', reason: 'NotHalted', message: 'The circuit breaker is closed.' };
}
