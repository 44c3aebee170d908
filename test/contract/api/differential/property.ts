import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Server } from '../servers.ts';
import { type Difference, findDifference } from './compare.ts';
import { found } from './found.ts';
import { isKnown } from './known.ts';
import { type Request, show } from './request.ts';
import { sequences } from './sequences.ts';

const number = (name: string, otherwise: number) => Number(process.env[name] || otherwise);
const runs = number('PLOINKY_DIFFERENTIAL_RUNS', 150);
const seed = number('PLOINKY_DIFFERENTIAL_SEED', 1);
/** Much more than the default count needs here, so that a slow machine draws fewer sequences instead of failing. */
const limitMs = runs > 150 ? runs * 1000 : 35_000;

/** Random sequences of requests must be answered the same by both servers. More of them, or others, by environment. */
export function compareSequences(running: () => readonly Server[]): void {
  test(`random sequences of requests are answered the same (${runs} from seed ${seed})`, {
    timeout: limitMs * 2,
  }, async (t) => {
    const [left, right] = running();
    if (left === undefined || right === undefined)
      return t.skip('SKIPPED: needs our server and the real one');
    const property = fc.asyncProperty(sequences, async (sequence) => {
      const difference = await findDifference([left, right], sequence);
      if (difference !== undefined && !isKnown(difference)) throw new Error(tell(difference));
    });
    const details = await fc.check(property, {
      seed,
      numRuns: runs,
      interruptAfterTimeLimit: limitMs,
      markInterruptAsFailure: false,
    });
    if (details.failed) assert.fail(report(details));
    assert.ok(details.numRuns > 0, 'not one sequence was run in the time given');
    t.diagnostic(`${details.numRuns} sequences`);
  });
  test('what random sequences once found is answered the same', { timeout: 120_000 }, async (t) => {
    const [left, right] = running();
    if (left === undefined || right === undefined)
      return t.skip('SKIPPED: needs our server and the real one');
    for (const [name, sequence] of Object.entries(found))
      await t.test(name, async () => {
        const difference = await findDifference([left, right], sequence);
        assert.deepEqual(difference?.answers[0], difference?.answers[1], difference?.at);
      });
  });
}

function tell({ at, answers }: Difference): string {
  return `differs at ${at}\n  ours: ${JSON.stringify(answers[0])}\n  real: ${JSON.stringify(answers[1])}`;
}

/** The shortest sequence found, as it would stand among the cases, and what was answered. */
function report(details: fc.RunDetails<[Request[]]>): string {
  const sequence = details.counterexample?.[0] ?? [];
  const cause = details.errorInstance instanceof Error ? details.errorInstance.message : '';
  const again = `PLOINKY_DIFFERENTIAL_SEED=${details.seed}`;
  return `after ${details.numRuns} sequences (${again}):\n${sequence.map(show).join(',\n')}\n${cause}`;
}
