import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { missingSuite, requirementSets, runClientScenario, scoredClientScenarios } from './suite.ts';

// The client half of the suite: an agent-server asks the suite's servers, which judge how it does. Where a person logs in,
// its own upstream client does all of it but for following the redirects that the person's browser would.

const program = fileURLToPath(new URL('./client/program.ts', import.meta.url));
const options = { timeout: 120_000, ...(missingSuite !== undefined && { skip: missingSuite }) };

/** How many scored scenarios there are, and how many of them are about authorization: a suite that has others is looked at anew. */
const expected = {
  '2025-11-25': { all: 18, authorization: 14 },
  '2026-07-28': { all: 32, authorization: 25 },
};
/** Where the agent logs in as itself: an extension, and so not scored. */
const credentials = ['auth/client-credentials-basic', 'auth/client-credentials-jwt'];

for (const requirements of requirementSets) {
  describe(`the client half of ${requirements}`, { concurrency: 2 }, async () => {
    const scenarios = missingSuite === undefined ? await scoredClientScenarios(requirements) : [];
    const authorization = scenarios.filter(isAuthorization);
    const { all, authorization: those } = expected[requirements];
    it(`has ${all} scored scenarios, ${those} of them about authorization`, options, () => {
      assert.equal(scenarios.length, all, scenarios.join());
      assert.equal(authorization.length, those, authorization.join());
    });
    const front = requirements === '2025-11-25' ? 'legacy' : 'auto';
    for (const scenario of scenarios) {
      const command = isAuthorization(scenario) ? [program, front, 'person'] : [program, front];
      it(scenario, options, () => passes(command, scenario, requirements));
    }
  });
}

describe('the client half about client credentials', { concurrency: 2 }, () => {
  for (const scenario of credentials) {
    it(scenario, options, () => passes([program, 'auto', 'machine'], scenario, undefined));
  }
});

function isAuthorization(scenario: string): boolean {
  return scenario.startsWith('auth/');
}

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
