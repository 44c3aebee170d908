import type { Ordered } from './ledger.ts';

/** What the store says of a task in the end. */
export interface Told {
  readonly status: string;
  readonly exitCode: number | null;
  readonly reason: string | null;
  readonly attempt: number;
  readonly result: { readonly content: readonly { readonly text: string }[] } | null;
}

export interface Evidence {
  readonly tasks: readonly Ordered[];
  /** By number; null for a task that the store does not know. */
  readonly told: ReadonlyMap<number, Told | null>;
  /** What the tools wrote themselves: `S|E <number> <boot>` lines. */
  readonly marks: string;
  /** How many tasks could run at once in each life. */
  readonly parallel: ReadonlyMap<number, number>;
}

export interface Verdict {
  readonly acked: number;
  readonly starts: number;
  readonly rerun: number;
  /** Most tasks of one kill that ran again. */
  readonly mostRerun: number;
  readonly interrupted: number;
  readonly problems: readonly string[];
}

interface Mark {
  readonly kind: string;
  readonly number: number;
  readonly boot: number;
}

/** Everything that a queue which loses nothing must not show. */
export function judge(evidence: Evidence): Verdict {
  const marks = evidence.marks.split('\n').filter((line) => /^[SE] \d+ \d+$/.test(line));
  const starts = marks.map(readMark).filter(({ kind }) => kind === 'S');
  const acked = evidence.tasks.filter(({ id }) => id !== undefined);
  const rerunByBoot = reruns(starts);
  const problems = [
    ...acked.flatMap((task) => judgeOutcome(task, evidence.told.get(task.number) ?? null)),
    ...judgeOrder(starts, evidence),
    ...judgeStarts(starts, evidence),
    ...[...rerunByBoot].flatMap(([boot, count]) => {
      const limit = evidence.parallel.get(boot) ?? 0;
      return count > limit ? [`${count} tasks of life ${boot} ran again; ${limit} could run`] : [];
    }),
  ];
  const rerun = [...rerunByBoot.values()];
  const interrupted = acked.filter(
    ({ number }) => evidence.told.get(number)?.reason === 'Interrupted',
  ).length;
  return {
    acked: acked.length,
    starts: starts.length,
    rerun: rerun.reduce((sum, count) => sum + count, 0),
    mostRerun: Math.max(0, ...rerun),
    interrupted,
    problems,
  };
}

function readMark(line: string): Mark {
  const [kind = '', number, boot] = line.split(' ');
  return { kind, number: Number(number), boot: Number(boot) };
}

function judgeOutcome({ number, code, bytes, retries }: Ordered, told: Told | null): string[] {
  if (told === null) return [`task ${number} is lost`];
  const { status, exitCode, reason } = told;
  if (reason === 'Interrupted') {
    return retries === 0 ? [] : [`task ${number} was given up although it may run again`];
  }
  const wanted = code === 0 ? 'completed' : 'failed';
  if (status !== wanted) return [`task ${number} is ${status}, not ${wanted}`];
  if (exitCode !== code) return [`task ${number} has exit code ${exitCode}, not ${code}`];
  const text = told.result?.content[0]?.text;
  const isKept = text === String(number).padStart(bytes, '0');
  return isKept
    ? []
    : [`the result of task ${number} is not what it wrote (${text?.length} of ${bytes} bytes)`];
}

/**
 * When a task starts, all that were acknowledged before it have started, but for those that are being started beside
 * it. What was ordered twice may have got a later place, and what may not run twice may never start.
 */
function judgeOrder(starts: readonly Mark[], { tasks, parallel }: Evidence): string[] {
  const problems: string[] = [];
  const counted = (task: Ordered | undefined) => task?.id !== undefined && !task.isMoved && task.retries > 0;
  const seen = new Set<number>();
  let next = 0;
  for (const { number, boot } of starts) {
    if (seen.has(number)) continue;
    seen.add(number);
    if (!counted(tasks[number])) continue;
    let before = 0;
    for (let earlier = next; earlier < number; earlier += 1) {
      if (counted(tasks[earlier]) && !seen.has(earlier)) before += 1;
    }
    if (before > (parallel.get(boot) ?? 0) - 1) {
      problems.push(`task ${number} started in life ${boot} before ${before} older ones`);
    }
    while (next < tasks.length && (seen.has(next) || !counted(tasks[next]))) next += 1;
  }
  return problems;
}

function judgeStarts(starts: readonly Mark[], { tasks }: Evidence): string[] {
  const problems: string[] = [];
  const lives = new Map<number, Set<number>>();
  for (const { number, boot } of starts) {
    const known = lives.get(number) ?? new Set();
    lives.set(number, known);
    const task = tasks[number];
    if (task === undefined) problems.push(`task ${number} was never ordered and ran`);
    else if (known.has(boot)) problems.push(`task ${number} ran twice in life ${boot}`);
    else if (known.size > 0 && task.retries === 0) problems.push(`task ${number} ran twice and must not`);
    else if (task.doneIn !== undefined && boot > task.doneIn) {
      problems.push(`task ${number} was done in life ${task.doneIn} and ran in ${boot}`);
    }
    known.add(boot);
  }
  return problems;
}

/** By life: tasks that had started in it and started again in a later one. */
function reruns(starts: readonly Mark[]): Map<number, number> {
  const last = new Map<number, number>();
  const counts = new Map<number, number>();
  for (const { number, boot } of starts) {
    const before = last.get(number);
    if (before !== undefined && before !== boot) counts.set(before, (counts.get(before) ?? 0) + 1);
    last.set(number, boot);
  }
  return counts;
}
