import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { isObject } from '#kit/json.ts';

export type Restarts = Readonly<Record<string, readonly number[]>>;

/** Restart times by child from a file; an absent or broken one is an empty history. */
export function loadRestarts(path: string): Restarts {
  try {
    const value: unknown = JSON.parse(readFileSync(path, 'utf8'));
    if (!isObject(value)) return {};
    const lists = Object.entries(value).filter(([, times]) => Array.isArray(times));
    return Object.fromEntries(lists.map(([name, times]) => [name, onlyNumbers(times as unknown[])]));
  } catch {
    return {};
  }
}

function onlyNumbers(values: readonly unknown[]): number[] {
  return values.filter((value) => typeof value === 'number');
}

/** Replaces the file; synchronous, so that a restart is on record before it is made. */
export function saveRestarts(path: string, restarts: Restarts): void {
  writeFileSync(`${path}.tmp`, JSON.stringify(restarts), { mode: 0o600 });
  renameSync(`${path}.tmp`, path);
}
