import type { AgentStatus } from '#api/agent.ts';
import { type ConditionType, findCondition } from '#api/conditions.ts';

/** What an operator would want to read; becomes a Kubernetes Event. */
export interface Notice {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** Steps of every start. */
const stages = new Set(['Starting', 'Installing']);

/**
 * Pure. What a change of status has to tell: that it is Ready now, a new reason why it is not, a new fault at
 * Degraded, a new halt or refusal. That an Agent starts is no news, and would be one write more for each.
 */
export function noticesOf(before: AgentStatus | undefined, after: AgentStatus): Notice[] {
  const notices: Notice[] = [];
  const ready = changed(before, after, 'Ready');
  if (ready !== undefined && !stages.has(ready.reason))
    notices.push({ type: 'Normal', reason: ready.reason, message: ready.message });
  for (const type of ['Degraded', 'Halted'] as const) {
    const fault = changed(before, after, type);
    if (fault?.status === 'True')
      notices.push({ type: 'Warning', reason: fault.reason, message: fault.message });
  }
  const accepted = changed(before, after, 'Accepted');
  if (accepted?.status === 'False') {
    notices.push({ type: 'Warning', reason: accepted.reason, message: accepted.message });
  }
  return withoutRepeats(notices);
}

function changed(before: AgentStatus | undefined, after: AgentStatus, type: ConditionType) {
  const old = findCondition(before?.conditions, type);
  const now = findCondition(after.conditions, type);
  const same = old?.status === now?.status && old?.reason === now?.reason;
  return same ? undefined : now;
}

/** One fault often shows at several conditions; the warning is the one to tell. */
function withoutRepeats(notices: readonly Notice[]): Notice[] {
  const byReason = new Map(notices.map((notice) => [notice.reason, notice]));
  return [...byReason.values()];
}
