import type { Bench } from './bench.ts';

/**
 * The benches of these names, all of them without any. For scripts: a name that is no bench's ends the process with 2,
 * once it was said which there are.
 */
export function chooseBenches(benches: readonly Bench[], names: readonly string[]): readonly Bench[] {
  const known = benches.map(({ name }) => name);
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length > 0) {
    console.error(`No such bench: ${unknown.join(', ')}. There are ${known.join(', ')}.`);
    process.exit(2);
  }
  return benches.filter(({ name }) => names.length === 0 || names.includes(name));
}
