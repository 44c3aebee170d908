import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { styleText } from 'node:util';
import type { BenchResult, Goal, Table } from './bench.ts';
import { round } from './stats.ts';

/** The result as people read it. */
export function printResult({ tables, goals, notes = [] }: BenchResult): void {
  for (const table of tables) printTable(table);
  for (const note of notes) console.log(`  ${note}`);
  console.log();
  for (const goal of goals) console.log(describeGoal(goal));
}

/** `goal <name> <value> <op> <target> hit|missed`, or `goal <name> skipped: <why>`. */
export function describeGoal(goal: Goal): string {
  if (typeof goal.value !== 'number')
    return styleText('yellow', `goal ${goal.name} skipped: ${goal.value.skipped}`);
  const text = `goal ${goal.name} ${round(goal.value, 3)} ${goal.op} ${goal.target} ${verdictOf(goal)}`;
  return styleText(verdictOf(goal) === 'hit' ? 'green' : 'red', text);
}

/** Not a number misses: something was not measured that should have been. */
export function verdictOf({ value, op, target }: Goal): 'hit' | 'missed' | 'skipped' {
  if (typeof value !== 'number') return 'skipped';
  return (op === '>=' ? value >= target : value <= target) ? 'hit' : 'missed';
}

export function writeResult(folder: string, name: string, facts: unknown, result: BenchResult): void {
  mkdirSync(folder, { recursive: true });
  const goals = result.goals.map((goal) => ({ ...goal, verdict: verdictOf(goal) }));
  const text = JSON.stringify({ bench: name, machine: facts, ...result, goals }, null, 2);
  writeFileSync(join(folder, `${name}.json`), `${text}\n`);
}

function printTable({ title, columns, rows }: Table): void {
  console.log(`\n  ${styleText('bold', title)}`);
  const cells = [columns, ...rows].map((row) => row.map(showCell));
  const widths = columns.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  for (const row of cells) {
    const shown = row.map((cell, column) =>
      column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
    );
    console.log(`  ${shown.join('   ')}`);
  }
}

function showCell(value: string | number): string {
  if (typeof value === 'string') return value;
  if (Number.isNaN(value)) return '–';
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString('en-US');
  return String(round(value, Math.abs(value) >= 10 ? 1 : 3));
}
