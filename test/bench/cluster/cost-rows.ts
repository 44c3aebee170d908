import type { AgentRun } from './agent-runs.ts';

/** What each of several runs took of the controller, an Agent: rows of a table with a column a run. */
export function costRows(runs: readonly AgentRun[]): (string | number)[][] {
  const per = (run: AgentRun, count: number | undefined) => (count === undefined ? '' : count / run.agents);
  const line = (title: string, read: (run: AgentRun) => number | string) => [title, ...runs.map(read)];
  return [
    line('writes of children', (run) => per(run, run.writes?.children)),
    line('writes of status', (run) => per(run, run.writes?.status)),
    line('writes of Events', (run) => per(run, run.writes?.events)),
    line('writes that were refused', (run) => per(run, sumOf(run.writes?.refused))),
    line('children', (run) => per(run, sumOf(run.children))),
    line('reconciles', (run) => per(run, run.reconciles)),
    line('CPU ms', (run) => per(run, run.cpuSeconds * 1000)),
    line('in all: MiB after a collection', (run) => run.residentMiB),
    line('in all: MiB at most', (run) => run.peakMiB),
    line('in all: MiB of heap', (run) => run.heapMiB),
  ];
}

export function sumOf(counts: Readonly<Record<string, number>> | undefined): number | undefined {
  return counts && Object.values(counts).reduce((sum, count) => sum + count, 0);
}
