/**
 * The names most like `wanted`, best first, by the pairs of letters that both have (Dice's coefficient);
 * those with nothing much in common are left out. Equal ones stay in the order given.
 */
export function nearestNames(wanted: string, names: readonly string[], most: number): string[] {
  const pairs = pairsOf(wanted.slice(0, longestName));
  return names
    .map((name) => ({ name, likeness: likeness(pairs, pairsOf(name)) }))
    .filter((entry) => entry.likeness >= leastLikeness)
    .sort((left, right) => right.likeness - left.likeness)
    .slice(0, most)
    .map((entry) => entry.name);
}

const leastLikeness = 0.3;
/** Names are at most 128 long in MCP; a longer one is nobody's. */
const longestName = 256;

function pairsOf(name: string): ReadonlySet<string> {
  const plain = name.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, '');
  const pairs = new Set<string>();
  for (let at = 0; at + 1 < plain.length; at += 1) pairs.add(plain.slice(at, at + 2));
  return pairs;
}

function likeness(left: ReadonlySet<string>, right: ReadonlySet<string>): number {
  if (left.size + right.size === 0) return 0;
  let common = 0;
  for (const pair of left) if (right.has(pair)) common += 1;
  return (2 * common) / (left.size + right.size);
}
