import { widthOf } from './terminal.ts';

/** Rows in columns as kubectl prints them: upper-case heads, three spaces between, no lines. */
export function formatTable(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [heads, ...rows];
  const widths = heads.map((_, column) => Math.max(...all.map((row) => widthOf(row[column] ?? ''))));
  return all.map((row) => formatRow(row, widths)).join('\n');
}

function formatRow(row: readonly string[], widths: readonly number[]): string {
  const cells = widths.map((width, column) => {
    const cell = row[column] ?? '';
    return cell + ' '.repeat(width - widthOf(cell));
  });
  return cells.join('   ').trimEnd();
}
