import { writeFile } from 'node:fs/promises';
import { exercise, features } from './matrix.ts';
import { createFindings, renderMatrix } from './render.ts';
import { matrixFile } from './rows.ts';
import { startStand } from './stand.ts';
import { nameOf, ways } from './ways.ts';

// Exercises every cell of the matrix of bridges and writes docs/bridge-matrix.md. Writes nothing, and exits with 1,
// when a cell is neither as it should be nor refused.

const findings = createFindings();
const failures: string[] = [];
const stand = await startStand(ways);
try {
  for (const way of ways) {
    for (const feature of features) {
      await exercise(stand, way, feature, (surface, outcome) =>
        findings.put(surface, way, feature, outcome),
      ).catch((error: unknown) => failures.push(`${nameOf(way)}, ${feature.name}: ${String(error)}`));
    }
  }
} finally {
  await stand.close();
}
if (failures.length === 0) await writeFile(matrixFile, renderMatrix(findings));
process.stderr.write(failures.map((failure) => `${failure}\n`).join(''));
process.stdout.write(failures.length === 0 ? `wrote docs/bridge-matrix.md\n` : '');
process.exitCode = failures.length === 0 ? 0 : 1;
