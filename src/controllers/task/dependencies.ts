import type { Task } from '#api/task.ts';
import { isFinal } from './phases.ts';

/** What `spec.dependsOn` comes to. */
export interface TaskDependencies {
  /** Not there. */
  readonly missing: readonly string[];
  /** They have a schedule, and so never end. */
  readonly endless: readonly string[];
  readonly waiting: readonly string[];
  /** Ended otherwise than well. */
  readonly failed: readonly { readonly name: string; readonly phase: string }[];
  /** Names on a circle that leads back to the Task; empty when there is none. */
  readonly cycle: readonly string[];
}

export const noDependencies: TaskDependencies = {
  missing: [],
  endless: [],
  waiting: [],
  failed: [],
  cycle: [],
};

/** Pure. `lookup` finds Tasks of the same namespace. */
export function dependenciesOf(task: Task, lookup: (name: string) => Task | undefined): TaskDependencies {
  const names = (task.spec.dependsOn ?? []).map(({ name }) => name);
  if (names.length === 0) return noDependencies;
  const found = names.map((name) => ({ name, task: lookup(name) }));
  const missing = found.filter((entry) => entry.task === undefined).map(({ name }) => name);
  const there = found.flatMap(({ name, task: other }) =>
    other === undefined ? [] : [{ name, task: other }],
  );
  const endless = there.filter((entry) => entry.task.spec.schedule !== undefined).map(({ name }) => name);
  const ending = there.filter((entry) => entry.task.spec.schedule === undefined);
  return {
    missing,
    endless,
    waiting: ending.filter((entry) => !isFinal(entry.task)).map(({ name }) => name),
    failed: ending
      .filter((entry) => isFinal(entry.task) && entry.task.status?.phase !== 'Succeeded')
      .map(({ name, task: other }) => ({ name, phase: other.status?.phase ?? '' })),
    cycle: cycleOf(task, lookup),
  };
}

/** The shortest way from the Task back to itself. */
function cycleOf(task: Task, lookup: (name: string) => Task | undefined): string[] {
  const start = task.metadata.name;
  const seen = new Set<string>();
  const queue: string[][] = [[start]];
  for (let path = queue.shift(); path !== undefined; path = queue.shift()) {
    const last = path.at(-1) ?? start;
    const node = path.length === 1 ? task : lookup(last);
    if (node === undefined || isFinal(node)) continue;
    for (const { name } of node.spec.dependsOn ?? []) {
      if (name === start) return [...path, start];
      if (seen.has(name)) continue;
      seen.add(name);
      queue.push([...path, name]);
    }
  }
  return [];
}
