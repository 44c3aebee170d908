import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { blobsBench } from '../test/bench/blobs/blobs.ts';
import { measureBench } from '../test/bench/harness/measure.ts';
import { runBenches } from '../test/bench/harness/run-benches.ts';
import { checkout } from '../test/bench/harness/scope.ts';

// Files in and out beside nginx: `bench-blobs.ts [--mib 1024] [--out DIR]`. Results go to .out/bench/blobs.json too. Needs
// curl, nginx and ten times the size on the disk. Exits with 1 when it broke; a missed goal is a result, not a failure.

const { values } = parseArgs({
  options: {
    out: { type: 'string', default: join(checkout, '.out/bench') },
    mib: { type: 'string', default: '1024' },
  },
});
process.exit(await runBenches([blobsBench(Number(values.mib))], values.out, measureBench));
