import type { AgentStatus } from '#api/agent.ts';
import { findCondition } from '#api/conditions.ts';
import { changedTools, nameSome, type ToolIdentities } from '#mcp/tool-identity.ts';
import type { Notice } from './events.ts';
import type { AgentReport } from './facts.ts';

/** What an Agent's tools were when they were last looked at. */
export interface ToolSight {
  /** Of the spec that they came from. */
  readonly generation: number | undefined;
  readonly tools: ToolIdentities;
  readonly hidden: readonly string[];
}

export interface ToolLook {
  readonly sight: ToolSight | undefined;
  readonly notices: readonly Notice[];
}

/**
 * Pure. Compares the tools with those of the last look. A tool that says something else although the spec is the same
 * is told, and so is text in tools that people do not see. While instances of an older spec may still be there, nothing
 * is compared. What changes while no controller runs is not seen here.
 */
export function lookAtTools(
  before: ToolSight | undefined,
  status: AgentStatus,
  reports: readonly AgentReport[],
): ToolLook {
  const report = reports.findLast(({ ready }) => ready);
  if (report?.tools === undefined || !isSettled(status)) return { sight: before, notices: [] };
  const { hidden = [] } = report;
  const sight = {
    generation: status.observedGeneration,
    tools: new Map(Object.entries(report.tools)),
    hidden,
  };
  const notices: Notice[] = [];
  const changed =
    before?.generation === sight.generation ? changedTools(before?.tools ?? new Map(), sight.tools) : [];
  if (changed.length > 0) {
    const message = `Tools are not what they were, although the spec is the same: ${nameSome(changed)}. Look at them before they are used.`;
    notices.push({ type: 'Warning', reason: 'ToolChanged', message });
  }
  if (hidden.length > 0 && hidden.join('\n') !== before?.hidden.join('\n')) {
    const message = `Tools have text that people do not see, which is not shown to clients: ${nameSome(hidden)}.`;
    notices.push({ type: 'Warning', reason: 'HiddenText', message });
  }
  return { sight, notices };
}

/** Every instance is of the newest spec. */
function isSettled({ conditions }: AgentStatus): boolean {
  const progressing = findCondition(conditions, 'Progressing');
  return progressing?.status === 'False' && progressing.reason === 'Ready';
}
