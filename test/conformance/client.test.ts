import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { missingSuite, requirementSets, runClientScenario, scoredClientScenarios } from './suite.ts';

// The client half of the suite: an agent-server asks the suite's servers, which judge how it does.

const program = fileURLToPath(new URL('./client/program.ts', import.meta.url));
const options = { timeout: 120_000, ...(missingSuite !== undefined && { skip: missingSuite }) };

/** How many scored scenarios are not about authorization: a suite that has others is looked at anew. */
const expected = { '2025-11-25': 4, '2026-07-28': 7 };
/** Of the scenarios about authorization, those of the grant that agents have; an extension, and so not scored. */
const credentials = ['auth/client-credentials-basic', 'auth/client-credentials-jwt'];

for (const requirements of requirementSets) {
  describe(`the client half of ${requirements}`, { concurrency: 2 }, async () => {
    const scored = missingSuite === undefined ? await scoredClientScenarios(requirements) : [];
    const scenarios = scored.filter((name) => !name.startsWith('auth/'));
    it(`has ${expected[requirements]} scored scenarios`, options, () => {
      assert.equal(scenarios.length, expected[requirements], scenarios.join());
    });
    const front = requirements === '2025-11-25' ? 'legacy' : 'auto';
    for (const scenario of scenarios) {
      it(scenario, options, () => passes([program, front], scenario, requirements));
    }
  });
}

describe('the client half about client credentials', { concurrency: 2 }, () => {
  for (const scenario of credentials) {
    it(scenario, options, () => passes([program, 'auto'], scenario, undefined));
  }
});

async function passes(command: readonly string[], scenario: string, requirements: string | undefined) {
  const { code, checks, output } = await runClientScenario(command, scenario, requirements);
  const failed = checks.filter(({ status }) => status === 'FAILURE' || status === 'WARNING');
  assert.deepEqual(failed, [], output);
  assert.ok(
    checks.some(({ status }) => status === 'SUCCESS'),
    output,
  );
  assert.equal(code, 0, output);
}
