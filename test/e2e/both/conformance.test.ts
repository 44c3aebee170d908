import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { compare, readBaseline, type Way } from '#test/conformance/baseline.ts';
import { renderMissing, renderTable } from '#test/conformance/report.ts';
import { scoreOf } from '#test/conformance/score.ts';
import { missingSuite, requirementSets, runSuite } from '#test/conformance/suite.ts';
import { startTarget, type Target } from '#test/conformance/targets.ts';
import { missingPlace } from '#test/fixtures/place/place.ts';

// The official conformance suite against one server, by itself and as an agent behind the router. The first is
// the control: what the server can do alone and not behind the router is what the gateway loses. What is known
// to fail is in test/conformance/expected-failures.json, written by `node test/conformance/run.ts --write`.

const ways: readonly (readonly [Way, string])[] = [
  ['direct', 'a conformance server by itself'],
  ['router', 'the same server as an agent, below /mcps'],
  ['aggregate', 'the same agent at /mcp, where all agents are'],
  ['stdio', 'the same agent on standard input and output'],
  ['bridge-2025', 'the same agent without revision 2026-07-28'],
  ['bridge-2026', 'the same agent with revision 2026-07-28 alone'],
];

for (const [way, name] of ways) {
  describe(`The conformance suite against ${name}`, {
    skip: missingPlace || missingSuite,
    timeout: 600_000,
  }, () => {
    let target: Target | undefined;
    before(async () => {
      target = await startTarget[way]();
    });
    after(() => target?.stop());

    for (const requirements of requirementSets) {
      it(`fails exactly what is expected of ${requirements}`, async (t) => {
        assert.ok(target !== undefined);
        const scenarios = await runSuite(target.url, requirements);
        const score = scoreOf(scenarios);
        t.diagnostic(renderTable([{ way, requirements, score }]));
        const { broken, mended } = compare((await readBaseline())[way][requirements], score.failures);
        assert.deepEqual(broken, [], `these fail now:\n${renderMissing(scenarios)}`);
        assert.deepEqual(mended, [], 'these pass now and have to be taken out of expected-failures.json');
        assert.ok(score.scenarios.of >= 30 && score.checks.passed > 0, 'the suite ran');
      });
    }
  });
}
