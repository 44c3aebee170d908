import type { RepairReport } from './repair.ts';

/** Names of tasks that are shown; of more only the number is. */
const mostNames = 20;

const logStates = {
  whole: undefined,
  torn: 'The end of the log had not been written whole; an order that was being recorded then may be missing.',
  damaged:
    'The log was damaged in its middle; what follows that place was carried over as far as it can be read.',
} as const;

/** The report as lines for people. */
export function reportText(report: RepairReport): string {
  const { kept, keptByStatus, lostIds, unreadable, withoutResult, withoutState } = report;
  const states = Object.entries(keptByStatus).map(([status, count]) => `${count} ${status}`);
  const log = logStates[report.log];
  const lines = [
    `Kept ${tasks(kept)}${states.length > 0 ? ` (${states.join(', ')})` : ''}.`,
    ...(log === undefined ? [] : [log]),
    lostIds.length > 0 ? `Lost ${tasks(lostIds.length)}: ${names(lostIds)}.` : 'No task is known to be lost.',
    ...(unreadable > lostIds.length
      ? [`${unreadable} places of the file cannot be read; tasks that were there are lost.`]
      : []),
    ...(withoutResult.length > 0 ? [`Kept without their results: ${names(withoutResult)}.`] : []),
    ...(withoutState.length > 0
      ? [`Kept as failed, because it cannot be read what became of them: ${names(withoutState)}.`]
      : []),
    `The damaged files are in ${report.damagedFolder}; remove them when nothing of them is needed.`,
  ];
  return `${lines.join('\n')}\n`;
}

function tasks(count: number): string {
  return count === 1 ? '1 task' : `${count} tasks`;
}

function names(ids: readonly string[]): string {
  const shown = ids.slice(0, mostNames).join(', ');
  return ids.length > mostNames ? `${shown} and ${ids.length - mostNames} more` : shown;
}
