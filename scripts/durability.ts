import { join } from 'node:path';
import { parseArgs } from 'node:util';
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
const unknown = positionals.filter((name) => !benches.some((bench) => bench.name === name));
if (unknown.length > 0) {
  const names = benches.map(({ name }) => name).join(', ');
  console.error(`No such bench: ${unknown.join(', ')}. There are ${names}.`);
  process.exit(2);
}
const chosen = benches.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
process.exit(await runBenches(chosen, values.out ?? join(checkout, '.out/durability'), measureBench));
