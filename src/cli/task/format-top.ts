import type { RunningTask } from '#wire/queue-state.ts';
import { formatSpan } from '../age.ts';
import { formatProgress } from '../call-progress.ts';
import { formatTable } from '../table.ts';
import { harmless, type Terminal } from '../terminal.ts';
import type { AgentLine, AgentQueues } from './queues.ts';

/** Short, so that a line fits a terminal of 80 characters. */
const heads = ['AGENT', 'PENDING', 'RUNNING', 'ASKING', 'DONE', 'FAILED', 'CANCELLED', 'WAIT', 'RUN'];
/** Running tasks that are named. */
const mostTasks = 20;
const progressColumns = 60;

/** A table of agents, and of the tasks that run. No colours, so that each line can be cut. */
export function formatTop({ agents, omitted }: AgentQueues): string[] {
  if (agents.length === 0) return ['No agents.'];
  const namespaces = new Set(agents.map(({ namespace }) => namespace)).size > 1;
  const nameOf = ({ namespace, agent }: AgentLine) => harmless(namespaces ? `${namespace}/${agent}` : agent);
  const table = formatTable(
    heads,
    [...agents].sort(byWork).map((line) => [nameOf(line), ...cellsOf(line)]),
  );
  const running = agents
    .flatMap((line) => (line.queue?.tasks ?? []).map((task) => ({ name: nameOf(line), task })))
    .sort((left, right) => right.task.runMs - left.task.runMs);
  const rows = running.slice(0, mostTasks).map(({ name, task }) => [name, ...taskCells(task)]);
  const more = running.length - rows.length;
  return [
    ...table.split('\n'),
    ...(omitted > 0 ? [`… and ${omitted} more agents, which were not asked.`] : []),
    ...(rows.length > 0
      ? ['', ...formatTable(['AGENT', 'TOOL', 'RUNS', 'ATTEMPT', 'PROGRESS'], rows).split('\n')]
      : []),
    ...(more > 0 ? [`… and ${more} more.`] : []),
  ];
}

function cellsOf({ queue, instances, answered, unavailable }: AgentLine): string[] {
  if (queue === undefined) return [unavailable ?? (instances === 0 ? 'NotReady' : 'no answer')];
  const { pending, running, inputRequired, finished, oldestWaitMs, tasks } = queue;
  const longest = tasks[0]?.runMs;
  const partly = answered < instances ? ` (${answered} of ${instances} answered)` : '';
  return [
    String(pending),
    String(running),
    String(inputRequired),
    String(finished.completed),
    String(finished.failed),
    String(finished.cancelled),
    oldestWaitMs === null ? '-' : formatSpan(oldestWaitMs),
    `${longest === undefined ? '-' : formatSpan(longest)}${partly}`,
  ];
}

function taskCells({ tool, runMs, attempt, progress }: RunningTask): string[] {
  const shown = progress === null ? '' : formatProgress({ ...progress }, progressColumns);
  return [harmless(tool), formatSpan(runMs), String(attempt), shown];
}

/** Those that do something come first. */
function byWork(left: AgentLine, right: AgentLine): number {
  return Number(isBusy(right)) - Number(isBusy(left));
}

function isBusy({ queue }: AgentLine): boolean {
  return queue !== undefined && queue.pending + queue.running + queue.inputRequired > 0;
}

/**
 * Draws lines over the `drawn` ones before; what does not fit the screen is left out, since nothing can be drawn over
 * what has moved out of it. Returns how many there are now.
 */
export function drawAgain(terminal: Terminal, all: readonly string[], drawn: number): number {
  const most = Math.max(5, (terminal.rows ?? 24) - 2);
  const lines = all.length > most ? [...all.slice(0, most), '…'] : all;
  const room = Math.max(20, terminal.columns - 1);
  const cut = lines.map((line) =>
    [...line].length > room ? `${[...line].slice(0, room - 1).join('')}…` : line,
  );
  const back = drawn > 0 ? `\u001b[${drawn}A\u001b[J` : '';
  terminal.writeNote(`${back}${cut.join('\n')}\n`);
  return cut.length;
}
