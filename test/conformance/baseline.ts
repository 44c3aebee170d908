import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { RequirementSet } from './suite.ts';

// What is known to fail, committed beside this file. It must be true in both directions: a check that fails
// and is not in it is a regression, one that is in it and passes has been mended and has to be taken out.

const path = join(import.meta.dirname, 'expected-failures.json');

/**
 * How the fixture was reached: alone, or as an agent behind the router, by itself or among all agents; on standard
 * input and output; of one era only, so that clients of the other need the bridge (docs/bridging.md).
 */
export const ways = ['direct', 'router', 'aggregate', 'stdio', 'bridge-2025', 'bridge-2026'] as const;
export type Way = (typeof ways)[number];
/**
 * The tools that the suite calls as tasks, as commands of an agent: at its agent-server, and behind the router as above.
 * Nothing is expected to fail there.
 */
export const taskWays = ['commands-direct', 'commands', 'commands-aggregate'] as const;
export type TaskWay = (typeof taskWays)[number];
/** Which row of docs/bridging.md explains what fails over the bridge, by scenario. */
const rowsPath = join(import.meta.dirname, 'bridge-rows.json');

export async function readRows(): Promise<Readonly<Record<string, string>>> {
  return JSON.parse(await readFile(rowsPath, 'utf8')) as Record<string, string>;
}
export type Baseline = Record<Way, Record<RequirementSet, readonly string[]>>;

export async function readBaseline(): Promise<Baseline> {
  const known = JSON.parse(await readFile(path, 'utf8')) as Partial<Baseline>;
  const empty = { '2025-11-25': [], '2026-07-28': [] };
  return Object.fromEntries(ways.map((way) => [way, known[way] ?? { ...empty }])) as unknown as Baseline;
}

/** A list with one member is on one line, as the formatter has it. */
export async function writeBaseline(baseline: Baseline): Promise<void> {
  const text = JSON.stringify(baseline, undefined, 2).replaceAll(/\[\n\s+("[^"\n]*")\n\s+\]/g, '[$1]');
  await writeFile(path, `${text}\n`);
}

export interface Differences {
  /** Fail, and should not. */
  readonly broken: readonly string[];
  /** Pass, and were expected to fail. */
  readonly mended: readonly string[];
}

export function compare(expected: readonly string[], failures: readonly string[]): Differences {
  return {
    broken: failures.filter((failure) => !expected.includes(failure)),
    mended: expected.filter((failure) => !failures.includes(failure)),
  };
}
