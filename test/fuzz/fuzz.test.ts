import assert from 'node:assert/strict';
import { availableParallelism } from 'node:os';
import { describe, it } from 'node:test';
import { type FuzzReport, fuzz } from './engine.ts';
import { regressionsOf } from './regressions.ts';
import { targets } from './targets.ts';

// A sample of `make fuzz`: everything that once failed, some seconds of made-up input, and the proof that faults are found.

const seconds = Number(process.env['FUZZ_SECONDS'] ?? '1');
const seed = Number(process.env['FUZZ_SEED'] ?? '1');
const bounded = { timeout: (seconds + 60) * 1_000 * targets.length };

function tellOf({ findings }: FuzzReport): string {
  return findings.map(({ kind, told, input }) => `${kind}: ${told}\n${input.toString('hex')}`).join('\n');
}

describe('The fuzzer', { concurrency: availableParallelism() }, () => {
  it('finds a crash that was planted', bounded, async () => {
    const { findings } = await fuzz('planted-crash', { seconds: 15, seed, untilFound: true });
    assert.equal(findings[0]?.kind, 'crash');
    assert.match(findings[0]?.told ?? '', /planted/);
    const again = await fuzz('planted-crash', {
      seconds: 0,
      seed,
      inputs: [findings[0]?.input ?? Buffer.alloc(0)],
    });
    assert.equal(again.findings[0]?.kind, 'crash', 'the input that it gives fails again');
  });
  it('finds an input that takes for ever', bounded, async () => {
    const { findings } = await fuzz('planted-hang', { seconds: 15, seed, untilFound: true });
    assert.equal(findings[0]?.kind, 'hang');
  });
});

describe('What strangers send', { concurrency: availableParallelism() }, () => {
  for (const { name } of targets) {
    it(`${name}: nothing that failed before fails`, bounded, async () => {
      const inputs = regressionsOf(name).map(({ input }) => input);
      if (inputs.length === 0) return;
      assert.equal(tellOf(await fuzz(name, { seconds: 0, seed, inputs })), '');
    });
    it(`${name}: made-up input neither ends the program nor holds it up`, bounded, async (t) => {
      const report = await fuzz(name, { seconds, seed });
      t.diagnostic(`${name}: ${report.runs} inputs in ${seconds} s`);
      assert.ok(report.runs > 0);
      assert.equal(tellOf(report), '');
    });
  }
});
