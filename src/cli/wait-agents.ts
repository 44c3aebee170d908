import type { Agent } from '#api/agent.ts';
import type { Client } from '#kube/client.ts';
import { type AgentLine, showAgentProgress } from './agent-progress.ts';
import { summarizeAgent } from './agent-summary.ts';
import type { Cli } from './context.ts';
import { followAgents } from './follow-agents.ts';

export interface WaitOutcome {
  readonly lines: readonly AgentLine[];
  /** False: the time was over, or Ctrl-C. */
  readonly settled: boolean;
}

/**
 * Shows the agents until each is Ready, stopped or failed. `expected` are names that must have appeared:
 * an object that was just applied is there, but a list may be older.
 */
export async function waitForAgents(
  cli: Cli,
  client: Client,
  options: { namespace: string; expected: readonly string[]; timeoutMs: number },
): Promise<WaitOutcome> {
  const { clock, interrupted } = cli;
  const done = new AbortController();
  const signal = AbortSignal.any([done.signal, interrupted]);
  const cancelDeadline = clock.after(options.timeoutMs, () => done.abort());
  const progress = showAgentProgress(cli.terminal, clock.monotonic());
  let lines: readonly AgentLine[] = [];
  let settled = false;
  const draw = () => progress.update(lines, clock.monotonic());
  const spinner = spin(cli, signal, draw);
  for await (const agents of followAgents(client, { namespace: options.namespace, clock, signal })) {
    lines = [...agents.values()].map(toLine).sort((a, b) => (a.name < b.name ? -1 : 1));
    draw();
    const appeared = options.expected.every((name) => agents.has(name));
    settled = appeared && lines.every(({ summary }) => summary.stage !== 'Working');
    if (settled) break;
  }
  done.abort();
  cancelDeadline();
  await spinner;
  progress.end();
  return { lines, settled };
}

export function toLine(agent: Agent): AgentLine {
  const summary = summarizeAgent(agent);
  const toolCount = summary.stage === 'Ready' ? agent.status?.toolCount : undefined;
  return { name: agent.metadata.name, summary, toolCount };
}

/** Redraws ten times a second where somebody can see it. */
async function spin({ terminal, clock }: Cli, signal: AbortSignal, draw: () => void): Promise<void> {
  while (terminal.interactive && !signal.aborted) {
    await clock.sleep(100, signal).catch(() => undefined);
    if (!signal.aborted) draw();
  }
}
