import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { faultBenches } from '../test/bench/faults.ts';
import { chooseBenches } from '../test/bench/harness/choose-benches.ts';
import { measureBench } from '../test/bench/harness/measure.ts';
import { runBenches } from '../test/bench/harness/run-benches.ts';
import { checkout } from '../test/bench/harness/scope.ts';

// What calls bear: `faults.ts [NAME…] [--share 0.1] [--out DIR]`; a share makes so much less of everything. Results go
// to .out/faults/<name>.json too. Exits with 1 when one broke; a missed goal is a result, not a failure.

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { out: { type: 'string' }, share: { type: 'string', default: '1' } },
});
const share = Number(values.share);
if (!(share > 0 && share <= 1)) {
  console.error(`--share must be above 0 and at most 1, not ${values.share}`);
  process.exit(2);
}
const benches = faultBenches(share);
const chosen = chooseBenches(benches, positionals);
process.exit(await runBenches(chosen, values.out ?? join(checkout, '.out/faults'), measureBench));
