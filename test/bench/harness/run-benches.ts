import type { Bench, BenchResult } from './bench.ts';
import { machineFacts } from './machine.ts';
import { printResult, verdictOf, writeResult } from './report.ts';

/**
 * Runs benches one after the other, prints each result, writes it to `<folder>/<name>.json`, and prints the totals
 * last. Resolves with the exit code: 1 when a bench broke; a missed goal is a result, not a failure.
 */
export async function runBenches(
  benches: readonly Bench[],
  folder: string,
  measure: (bench: Bench) => Promise<BenchResult>,
): Promise<number> {
  let broken = 0;
  const tally = { hit: 0, missed: 0, skipped: 0 };
  for (const bench of benches) {
    console.log(`\n${bench.name}: ${bench.about}`);
    const facts = machineFacts();
    const begun = performance.now();
    try {
      const result = await measure(bench);
      printResult(result);
      writeResult(folder, bench.name, facts, result);
      for (const goal of result.goals) tally[verdictOf(goal)] += 1;
    } catch (error) {
      broken += 1;
      console.error(`${bench.name} broke:`, error);
    }
    console.log(`(${((performance.now() - begun) / 1000).toFixed(0)} s)`);
  }
  const { hit, missed, skipped } = tally;
  console.log(`\n${hit} goals hit, ${missed} missed, ${skipped} skipped, ${broken} benches broke`);
  console.log(`Raw figures: ${folder}`);
  return broken > 0 ? 1 : 0;
}
