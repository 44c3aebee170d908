import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { chooseBenches } from '../test/bench/harness/choose-benches.ts';
import { measureBench } from '../test/bench/harness/measure.ts';
import { runBenches } from '../test/bench/harness/run-benches.ts';
import { checkout } from '../test/bench/harness/scope.ts';
import { durabilityBenches } from '../test/durability/benches.ts';

// What the queue of tasks bears: `durability.ts [NAME…] [--share 0.1] [--seed N] [--out DIR]`; a share makes so much
// less of everything, a seed repeats a run. Results go to .out/durability/<name>.json too. Exits with 1 when one broke;
// a missed goal is a result, not a failure.

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    out: { type: 'string' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
    share: { type: 'string', default: '1' },
  },
});
const share = Number(values.share);
const seed = Number(values.seed);
if (!(share > 0 && share <= 1) || !Number.isSafeInteger(seed)) {
  console.error(
    `--share must be above 0 and at most 1, and --seed a number: ${values.share}, ${values.seed}`,
  );
  process.exit(2);
}
const benches = durabilityBenches({ share, seed });
const chosen = chooseBenches(benches, positionals);
process.exit(await runBenches(chosen, values.out ?? join(checkout, '.out/durability'), measureBench));
