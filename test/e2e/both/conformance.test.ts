import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { compare, readBaseline, type TaskWay, type Way } from '#test/conformance/baseline.ts';
import { renderMissing, renderTable } from '#test/conformance/report.ts';
import { scoreOf } from '#test/conformance/score.ts';
import { openStand } from '#test/conformance/stand.ts';
import {
  missingSuite,
  type RequirementSet,
  requirementSets,
  runSuite,
  runTaskScenarios,
  taskScenarios,
} from '#test/conformance/suite.ts';
import { missingPlace, placeKind } from '#test/fixtures/place/place.ts';

// The official conformance suite against one server, by itself and as an agent behind two routers that take every
// other request each. The first is the control: what the server can do alone and not behind the routers is what the
// gateway loses. What is known to fail is in test/conformance/expected-failures.json, written by
// `node test/conformance/run.ts --write`. `make conformance` runs all ways in both places.

const ways: readonly (readonly [Way, string])[] = [
  ['direct', 'a conformance server by itself'],
  ['router', 'the same server as an agent, below /mcps'],
  ['aggregate', 'the same agent at /mcp, where all agents are'],
  ['stdio', 'the same agent on standard input and output'],
  ['bridge-2025', 'the same agent without revision 2026-07-28'],
  ['bridge-2026', 'the same agent with revision 2026-07-28 alone'],
];
const taskWays: readonly (readonly [TaskWay, string])[] = [
  ['commands-direct', 'an agent-server by itself'],
  ['commands', 'an agent, below /mcps'],
  ['commands-aggregate', 'the same agent at /mcp'],
];
/** What a cluster has of its own is between client, routers and agent-server, not behind it. */
const onCluster: readonly Way[] = ['router', 'aggregate'];
const here = ways.filter(([way]) => placeKind === 'laptop' || onCluster.includes(way));

const scored = { '2025-11-25': 30, '2026-07-28': 37 } as const;
/** Where all of them have to pass, whatever is expected to fail. */
const whole: readonly Way[] = ['direct', 'router', 'aggregate', 'stdio'];
/** What counts for no score and has to have shown something. */
const unscored: Record<RequirementSet, readonly string[]> = {
  '2025-11-25': ['server-session-lifecycle', 'server-sse-polling'],
  '2026-07-28': ['http-header-validation', 'http-custom-header-server-validation'],
};

describe('The conformance suite', { skip: missingPlace || missingSuite, timeout: 900_000 }, () => {
  const stand = openStand();
  after(() => stand.close());

  for (const [way, name] of here) {
    for (const requirements of requirementSets) {
      it(`fails exactly what is expected of ${requirements} against ${name}`, async (t) => {
        const url = await stand.reach(way);
        const before = stand.taken;
        const scenarios = await runSuite(url, requirements);
        const score = scoreOf(scenarios);
        t.diagnostic(renderTable([{ way, place: placeKind, requirements, score }]));
        const { broken, mended } = compare((await readBaseline())[way][requirements], score.failures);
        assert.deepEqual(broken, [], `these fail now:\n${renderMissing(scenarios)}`);
        assert.deepEqual(mended, [], 'these pass now and have to be taken out of expected-failures.json');
        assert.equal(score.scenarios.of, scored[requirements]);
        if (whole.includes(way)) assert.equal(score.scenarios.passed, score.scenarios.of);
        for (const name of unscored[requirements]) {
          const checks = scenarios.find((scenario) => scenario.name === name)?.checks ?? [];
          assert.ok(
            checks.some(({ status }) => status === 'SUCCESS'),
            `${name} has shown nothing`,
          );
        }
        const shares = stand.taken.map((taken, index) => taken - (before[index] ?? 0));
        assert.ok(
          way === 'direct' || shares.every((share) => share > 50),
          `each router took some: ${shares}`,
        );
      });
    }
  }

  for (const [way, name] of taskWays) {
    if (placeKind !== 'laptop' && way === 'commands-direct') continue;
    it(`has its tasks from commands of ${name}`, async (t) => {
      const url = await stand.reach(way);
      const before = stand.taken;
      const scenarios = await runTaskScenarios(url);
      const score = scoreOf(scenarios);
      t.diagnostic(renderTable([{ way, place: placeKind, requirements: '2026-07-28', score }]));
      assert.deepEqual(score.failures, [], `these fail:\n${renderMissing(scenarios)}`);
      assert.equal(score.scenarios.passed, taskScenarios.length);
      const shares = stand.taken.map((taken, index) => taken - (before[index] ?? 0));
      assert.ok(
        way === 'commands-direct' || shares.every((share) => share > 20),
        `each router took some: ${shares}`,
      );
    });
  }
});
