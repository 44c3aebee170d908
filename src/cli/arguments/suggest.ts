/** The names that one may have meant, the likeliest first; empty when none is near. */
export function suggest(name: string, known: readonly string[], limit = 3): string[] {
  const wanted = name.toLowerCase();
  return known
    .map((each) => ({ each, distance: distanceOf(wanted, each.toLowerCase()) }))
    .filter(({ distance }) => distance <= Math.max(1, Math.floor(wanted.length / 3)))
    .sort((left, right) => left.distance - right.distance)
    .slice(0, limit)
    .map(({ each }) => each);
}

/** Letters to add, take away, change or swap with a neighbour; 0 also where one begins with the other. */
function distanceOf(left: string, right: string): number {
  if (left.length >= 3 && (right.startsWith(left) || left.startsWith(right))) return 0;
  let before: number[] = [];
  let row = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let i = 1; i <= left.length; i++) {
    const next = [i];
    for (let j = 1; j <= right.length; j++) {
      const same = left[i - 1] === right[j - 1] ? 0 : 1;
      const swapped = left[i - 1] === right[j - 2] && left[i - 2] === right[j - 1];
      const costs = [cell(row, j) + 1, cell(next, j - 1) + 1, cell(row, j - 1) + same];
      if (swapped) costs.push(cell(before, j - 2) + 1);
      next.push(Math.min(...costs));
    }
    before = row;
    row = next;
  }
  return cell(row, right.length);
}

function cell(row: readonly number[], index: number): number {
  return row[index] ?? Number.POSITIVE_INFINITY;
}
