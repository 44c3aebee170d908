/**
 * Places in which a program of these tests ends itself by SIGKILL, named by an environment variable:
 * `DURABILITY_FAILPOINT=<name>:<n>` means the n-th time that it comes there. The product knows nothing of them.
 */
export const failpoints = [
  /** The store is about to begin a transaction. */
  'before-write',
  /** It has carried everything out, but not committed. */
  'after-write',
  /** Its log is being written: half a piece of it is. Needs the shim. */
  'log-write',
  /** Its log is written, but not flushed. Needs the shim. */
  'before-commit',
  /** All is on disk, but nobody has heard of it. */
  'after-commit',
  /** The enqueuer is about to be told. */
  'before-ack',
  'after-ack',
  /** The task is recorded as running. */
  'before-spawn',
  'after-spawn',
  /** The task has ended; its result is not recorded. */
  'before-result',
  /** A long result is written to a file of its own, which has no name yet. */
  'before-rename',
  'after-rename',
  /** The result is recorded, but nobody has heard of it. */
  'after-result',
] as const;

export type Failpoint = (typeof failpoints)[number];

/** Those that are in the C library's place. */
export const shimFailpoints: readonly Failpoint[] = ['log-write', 'before-commit'];

/** Those that only a program of the queue's parts has. */
const partsFailpoints: readonly Failpoint[] = ['before-spawn', 'after-spawn', 'before-result'];

export function failpointsOf(program: 'queue-program' | 'server-program'): readonly Failpoint[] {
  return program === 'queue-program'
    ? failpoints
    : failpoints.filter((name) => !partsFailpoints.includes(name));
}

const [armed, count] = (process.env['DURABILITY_FAILPOINT'] ?? '').split(':');
let left = Number(count);

/** Ends the process, as it is, if this is the place and the time. */
export function pass(name: Failpoint): void {
  if (name !== armed) return;
  left -= 1;
  if (left === 0) process.kill(process.pid, 'SIGKILL');
}
