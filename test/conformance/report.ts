import type { Ratio, Score } from './score.ts';
import { passes } from './score.ts';
import type { Check, Scenario } from './suite.ts';

/** One row a measurement. */
export interface Row {
  readonly way: string;
  /** Where the agent runs; empty for the server by itself. */
  readonly place: string;
  readonly requirements: string;
  readonly score: Score;
}

export function renderTable(rows: readonly Row[]): string {
  const cells = [
    ['server reached', 'place', 'requirements', 'scenarios', 'checks', 'not scored'],
    ...rows.map(({ way, place, requirements, score }) => [
      way,
      place,
      requirements,
      shown(score.scenarios),
      shown(score.checks),
      shown(score.unscored),
    ]),
  ];
  const widths = [0, 1, 2, 3, 4, 5].map((column) =>
    Math.max(...cells.map((row) => row[column]?.length ?? 0)),
  );
  const lines = cells.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  return lines.join('\n');
}

function shown({ passed, of }: Ratio): string {
  return `${passed}/${of}`;
}

/** Every scenario that did not pass, with what its checks said. */
export function renderMissing(scenarios: readonly Scenario[]): string {
  return scenarios
    .filter((scenario) => !passes(scenario))
    .map(({ name, scored, checks }) => {
      const title = `${name}${scored ? '' : ' (not scored)'}`;
      const failed = checks.filter(({ status }) => status === 'FAILURE');
      return failed.length === 0
        ? `  ${title}: nothing was checked`
        : `  ${title}\n${failed.map(explained).join('\n')}`;
    })
    .join('\n');
}

function explained({ id, errorMessage = 'failed' }: Check): string {
  return `    ${id}: ${errorMessage.replaceAll(/\s+/g, ' ').slice(0, 300)}`;
}
