import type { AgentStatus } from '#api/agent.ts';
import { setCondition } from '#api/conditions.ts';
import { agentLabel } from '#api/labels.ts';
import type { Condition } from '#api/meta.ts';
import type { Observed } from '#drivers/workload.ts';
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
  const report = currentReport(facts.report, observed);
  const ready = readyOf(verdict, observed, report);
  const endpoints = endpointsOf(observed, report);
  return {
    ...(agent.metadata.generation === undefined ? {} : { observedGeneration: agent.metadata.generation }),
    conditions: conditionsOf(facts, verdict, observed, ready),
    ...(facts.runtime.ok ? { runtime: facts.runtime.class } : {}),
    replicas: observed?.instances.filter((instance) => instance.exit === undefined).length ?? 0,
    selector: `${agentLabel}=${agent.metadata.name}`,
    restarts: facts.history.restarts,
    endpoints,
    ...describeTools(facts, report),
  };
}

/** A report counts only for the instance that runs now. */
function currentReport(
  report: AgentReport | undefined,
  observed: Observed | undefined,
): AgentReport | undefined {
  const running = observed?.instances.some(({ uid, exit }) => uid === report?.instance && exit === undefined);
  return running ? report : undefined;
}

/** What is known of the tools stays known while the agent is away: columns and tables do not flicker. */
function describeTools(facts: AgentFacts, report: AgentReport | undefined): Partial<AgentStatus> {
  if (report?.ready) {
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

function endpointsOf(
  observed: Observed | undefined,
  report: AgentReport | undefined,
): NonNullable<AgentStatus['endpoints']> {
  const live = observed?.instances.filter((instance) => instance.exit === undefined) ?? [];
  return live.map(({ name, uid, address, terminating }) => ({
    name,
    uid,
    address,
    terminating,
    ready: !terminating && report?.instance === uid && report.ready,
  }));
}

function readyOf(verdict: Verdict, observed: Observed | undefined, report: AgentReport | undefined): Finding {
  const no = (reason: string, message: string): Finding => ({ status: 'False', reason, message });
  const runs = observed?.phase === 'Running';
  // Why it ended tells more than that it is not started yet.
  if (verdict.reason === 'BackOff' && observed?.phase === 'Failed' && observed.reason !== undefined) {
    return no(observed.reason, observed.message);
  }
  if (verdict.action !== 'run' && !(verdict.action === 'hold' && runs)) {
    return no(verdict.reason, verdict.message);
  }
  switch (observed?.phase) {
    case 'Running':
      if (report === undefined) return no('Starting', 'The agent-server has not reported yet.');
      if (!report.ready) return no(report.reason || 'UpstreamNotReady', report.message);
      if (report.reason === 'ConfigProblems') {
        return { status: 'True', reason: 'ConfigProblems', message: report.message };
      }
      return { status: 'True', reason: 'Ready', message: 'The agent answers.' };
    case 'Installing':
      return no('Installing', observed.message);
    case 'Failed':
      return no(observed.reason ?? 'BackOff', observed.message);
    default:
      return no('Starting', 'The agent is being started.');
  }
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
    Progressing: progressingOf(verdict, observed, ready),
    Degraded: degradedOf(verdict, observed, ready),
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
]);

function progressingOf(verdict: Verdict, observed: Observed | undefined, ready: Finding): Finding {
  if (ready.status === 'True')
    return { status: 'False', reason: 'Ready', message: 'Nothing is being changed.' };
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
  if (ready.reason === 'ConfigProblems') return ready;
  if (settledReasons.has(verdict.reason))
    return { status: 'True', reason: verdict.reason, message: verdict.message };
  if (observed !== undefined && observed.phase !== 'Absent' && !observed.limitsEnforced) {
    const message = observed.limitsMessage ?? 'Memory and process limits cannot be enforced here.';
    return { status: 'True', reason: 'LimitsNotEnforced', message };
  }
  return { status: 'False', reason: 'AsExpected', message: 'Nothing is wrong.' };
}

function haltedOf(facts: AgentFacts, verdict: Verdict): Finding {
  if (isHalted(facts.history)) return { status: 'True', reason: 'CrashLoop', message: verdict.message };
  return { status: 'False', reason: 'NotHalted', message: 'The circuit breaker is closed.' };
}
