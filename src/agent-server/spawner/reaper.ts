import { getSystemErrorName } from 'node:util';
import type { SpawnFailure } from '../tools/spawner-protocol.ts';
import { spawnFailure } from './launch.ts';

/** What native/reaper.c says on descriptor 3. */
export type ReaperNotice =
  /** The command is over, but something of it lives; SIGQUIT ends that. */
  { readonly type: 'over' } | { readonly type: 'failed'; readonly failure: SpawnFailure };

/**
 * A line of descriptor 3 that is the reaper's, not the tool's: it begins with a zero byte, which no JSON does. A tool
 * that writes such a line cuts its own drain short or calls its own start failed; it reaches nothing else by that.
 */
export function readNotice(line: Buffer, file: string): ReaperNotice | undefined {
  if (line[0] !== 0) return undefined;
  const number = Number(line.toString('latin1', 2));
  if (line[1] !== failedLetter || !Number.isInteger(number) || number < 1) return { type: 'over' };
  return { type: 'failed', failure: spawnFailure(errorName(number), file) };
}

const failedLetter = 'E'.charCodeAt(0);

function errorName(number: number): string {
  try {
    return getSystemErrorName(-number);
  } catch {
    return `ERRNO${number}`;
  }
}
