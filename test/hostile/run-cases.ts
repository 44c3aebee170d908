import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { BenchScope } from '../bench/harness/scope.ts';
import type { HostileCase } from './case.ts';
import type { Place } from './place.ts';

/**
 * How long a refusal may take in a test, in milliseconds: a second is the goal, which a bench judges on a machine of
 * its own; a busy one is given more.
 */
const generousMs = 10_000;
const limits = { timeout: 120_000 };

/** Tests each case and its control on one place, which all of them leave as it was. */
export function testCases<P extends Place>(
  start: (scope: BenchScope) => Promise<P>,
  cases: readonly HostileCase<P>[],
): void {
  const scope = new BenchScope();
  let place: P | undefined;
  before(async () => {
    try {
      place = await start(scope);
    } catch (error) {
      throw new Error(scope.transcript(), { cause: error });
    }
  });
  after(() => scope.end());
  for (const { name, attack, control, missing } of cases) {
    test(name, { ...limits, skip: missing?.() ?? false }, async () => {
      assert.ok(place !== undefined);
      const { answer, ms } = await attack(place);
      assert.ok(ms < generousMs, `${answer} after ${Math.round(ms)} ms`);
      assert.notEqual(await control(place), '');
      assert.equal(place.router.process.exitCode, null, 'the router has ended');
    });
  }
}
