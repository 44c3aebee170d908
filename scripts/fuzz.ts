import { availableParallelism } from 'node:os';
import { fuzz } from '../test/fuzz/engine.ts';
import { keepRegression } from '../test/fuzz/regressions.ts';
import { targets } from '../test/fuzz/targets.ts';

// Throws made-up input at everything that reads what strangers send. FUZZ_SECONDS (default 600) for each target, as
// many at once as there are processors; with names as arguments only those. What fails is kept in test/fuzz/regressions
// and runs with every test from then on. Ends with 1 when something failed.

const seconds = Number(process.env['FUZZ_SECONDS'] ?? '600');
const seed = Number(process.env['FUZZ_SEED'] ?? Date.now() % 1_000_000);
const names = process.argv.slice(2);
if (!(seconds > 0)) throw new Error('FUZZ_SECONDS must be a number of seconds');
const chosen = targets.filter(({ name }) => names.length === 0 || names.includes(name));
const unknown = names.filter((name) => !targets.some((target) => target.name === name));
if (unknown.length > 0) {
  const known = targets.map(({ name }) => name).join(', ');
  throw new Error(`there is no target ${unknown.join(', ')}; there are: ${known}`);
}
console.log(`${chosen.length} targets, ${seconds} s each, FUZZ_SEED=${seed}`);

let failures = 0;
const waiting = [...chosen];
async function work(): Promise<void> {
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    const { target, runs, corpus, findings } = await fuzz(next.name, { seconds, seed });
    const outcome = findings.length === 0 ? 'nothing found' : `${findings.length} FAILED`;
    console.log(`${target.padEnd(20)} ${String(runs).padStart(10)} inputs, ${corpus} kept: ${outcome}`);
    for (const { kind, input, told } of findings) {
      failures += 1;
      console.log(`  ${kind}: ${told}\n  kept: ${keepRegression(target, input)}`);
    }
  }
}
await Promise.all(Array.from({ length: Math.min(availableParallelism(), chosen.length) }, work));
if (failures > 0) process.exitCode = 1;
