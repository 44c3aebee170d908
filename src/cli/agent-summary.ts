import type { Agent } from '#api/agent.ts';
import { findCondition } from '#api/conditions.ts';

export type AgentStage = 'Ready' | 'Working' | 'Stopped' | 'Failed';

/** What a person wants to know of an agent in one line. */
export interface AgentSummary {
  readonly stage: AgentStage;
  /** `Ready`, or the reason of the condition that tells most. */
  readonly reason: string;
  readonly message: string;
  /** What is less than asked for though it works: no limits on this host. */
  readonly warning?: string;
}

/** Judged by the conditions that speak of the spec as it is now. */
export function summarizeAgent(agent: Agent): AgentSummary {
  const { generation } = agent.metadata;
  const conditions = agent.status?.conditions?.filter(
    (condition) => condition.observedGeneration === undefined || condition.observedGeneration === generation,
  );
  const of = (type: Parameters<typeof findCondition>[1]) => findCondition(conditions, type);
  const accepted = of('Accepted');
  if (accepted?.status === 'False') return { stage: 'Failed', ...textOf(accepted) };
  const halted = of('Halted');
  if (halted?.status === 'True') return { stage: 'Failed', ...textOf(halted) };
  const ready = of('Ready');
  const degraded = of('Degraded');
  if (ready?.status === 'True') {
    const warning = degraded?.status === 'True' ? { warning: degraded.message } : {};
    return { stage: 'Ready', reason: 'Ready', message: ready.message, ...warning };
  }
  if (agent.spec.runtime.suspend || agent.spec.runtime.replicas === 0) {
    return { stage: 'Stopped', reason: 'Suspended', message: ready?.message ?? '' };
  }
  const failing = degraded?.reason === 'LimitsNotEnforced' ? undefined : degraded;
  const told = [failing, of('Progressing')].find((condition) => condition?.status === 'True') ?? ready;
  if (told === undefined)
    return { stage: 'Working', reason: 'Pending', message: 'not seen by the controller' };
  // Degraded and nothing in progress: it waits for a person, not for time.
  const stands = failing?.status === 'True' && of('Progressing')?.status === 'False';
  return { stage: stands ? 'Failed' : 'Working', ...textOf(told) };
}

function textOf({ reason, message }: { reason: string; message: string }) {
  return { reason, message };
}

/** The first line, for a table; without the words that lead over to a log in the next. */
export function headlineOf(message: string): string {
  return (message.split('\n')[0] ?? '').replace(/ ?The end of its log:$/, '');
}
