import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { checkout } from '#test/fixtures/workspace/workspace.ts';
import { type Outcome, type Way, yearOf } from './ways.ts';

export const matrixFile = join(checkout, 'docs/bridge-matrix.md');

/** What docs/bridging.md says of a row in the direction of a way. */
export type Rows = (row: string, way: Way) => string | undefined;

export async function readRows(): Promise<Rows> {
  const page = await readFile(join(checkout, 'docs/bridging.md'), 'utf8');
  const cells = new Map<string, string>();
  let columns: string[] = [];
  for (const line of page.split('\n').filter((text) => text.startsWith('|'))) {
    const [row = '', , ...rest] = line
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim());
    if (row === 'row') columns = rest;
    else rest.forEach((cell, index) => void cells.set(`${row} ${columns[index]}`, cell));
  }
  return (row, { client, server }) => cells.get(`${row} ${yearOf(client)} → ${yearOf(server)}`);
}

const words: Readonly<Record<string, RegExp>> = {
  refused: /refused|dropped|not of this revision|not announced/,
  none: /cannot occur|not of this revision|^–$/,
};

/** What is wrong with an outcome by that page; undefined: nothing. */
export function contradiction(rows: Rows, way: Way, outcome: Outcome): string | undefined {
  const [word = '', row] = outcome.split(': ');
  if (row === undefined) return undefined;
  const said = rows(row, way);
  if (said === undefined) return `docs/bridging.md has no row ${row} for this`;
  return words[word]?.test(said) ? undefined : `row ${row} of docs/bridging.md says “${said}”`;
}
