import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Installed } from '#test/fixtures/place/install.ts';
import { openWayIn, type WayIn } from '#test/fixtures/place/way-in.ts';
import { agent, conditionOf, isReady, type SeenAgent } from './agents.ts';
import { callTool } from './call.ts';
import { codeAgents, codeObjects, fillClaim } from './code-sources.ts';
import { cases, plainPod, policies, quota } from './condition-cases.ts';
import { type Follower, follow } from './follow.ts';
import { addLateVolume } from './late-volume.ts';
import { installIn, missingCluster, openCluster, progress, type Space, seconds } from './product.ts';

const runsSlowTests = process.env['PLOINKY_SLOW_TESTS'] === '1';

describe('What a person reads of an agent that does not run', {
  skip: missingCluster,
  timeout: 1_500_000,
}, () => {
  let space: Space & Pick<Installed, 'remove'>;
  let agents: Follower<SeenAgent>;
  let way: WayIn;
  let folder: string;
  const table: string[] = [];
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'conditions-'));
    space = await installIn(await openCluster(['python', 'musl']), 'conditions');
    way = await openWayIn(
      space.cluster,
      { namespace: space.namespace, name: 'ploinky-router', port: 80 },
      folder,
    );
    agents = follow<SeenAgent>(space, 'agents');
  });
  after(async () => {
    if (table.length > 0) progress(`| case | shown after | condition |\n|---|---|---|\n${table.join('\n')}`);
    agents?.close();
    await way?.close();
    await space?.cluster.tryKubectl(['delete', '--ignore-not-found', '-f', '-'], {
      input: JSON.stringify({ apiVersion: 'v1', kind: 'List', items: policies(space.namespace) }),
    });
    await space?.remove();
    await space?.cluster.tryKubectl(['delete', '--ignore-not-found', 'storageclass/late-class']);
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  });

  /** A policy is in force a moment after it was stored. */
  async function untilRefused(name: string, says: RegExp): Promise<void> {
    const pod = JSON.stringify(plainPod(name));
    const command = ['create', '--dry-run=server', '-n', space.namespace, '-f', '-'];
    for (let tries = 0; tries < 60; tries += 1) {
      const { stderr } = await space.cluster.tryKubectl(command, { input: pod });
      if (says.test(stderr)) return;
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
    assert.fail(`pods of ${name} are not refused`);
  }
  const note = (name: string, began: number, said: string) =>
    table.push(`| ${name} | ${seconds(began)} | ${said.replaceAll(/\s+/g, ' ').slice(0, 260)} |`);
  const untilReady = (name: string) =>
    agents.until(`${name} is Ready`, (all) => isReady(all.get(name)) && all.get(name), 180_000);
  const call = (name: string, tool: string) => callTool(`${way.url}/mcps/${name}/mcp`, tool);

  it('is the cause in words, for every cause at once', async () => {
    await space.apply(quota);
    await space.cluster.kubectl(['apply', '-f', '-'], {
      input: JSON.stringify({ apiVersion: 'v1', kind: 'List', items: policies(space.namespace) }),
    });
    await untilRefused('by-policy', /not wanted/);
    await untilRefused('by-webhook', /away\.example\.test/);
    const began = performance.now();
    await space.apply(...cases.map(({ name, spec }) => agent(name, spec)));
    const seen = cases.map(async ({ name, what, type = 'Ready', reason, says }) => {
      const found = await agents.until(
        `${name}: ${what} (${reason})`,
        (all) => {
          const condition = conditionOf(all.get(name), type);
          return condition?.reason === reason && says.test(condition.message) && condition;
        },
        240_000,
      );
      note(what, began, `${type}=${found.status} ${found.reason}: ${found.message}`);
      assert.equal(found.status, 'False');
    });
    const failed = (await Promise.allSettled(seen)).flatMap((one) =>
      one.status === 'rejected' ? [one.reason] : [],
    );
    assert.deepEqual(failed, []);
  });

  it('goes away when the cause does: a Secret is made, a volume comes, an image is mended, a policy goes', async () => {
    const began = performance.now();
    const mend = async (name: string, what: string, act: () => Promise<unknown>) => {
      const start = performance.now();
      await act();
      await untilReady(name);
      note(what, start, 'Ready=True');
    };
    await Promise.all([
      mend('no-secret', 'the Secret is made', () =>
        space.kubectl('create', 'secret', 'generic', 'late', '--from-literal=key=value'),
      ),
      mend('no-volume', 'a volume comes', () => addLateVolume(space.cluster, 'late-class')),
      mend('no-image', 'the image is mended', () =>
        space.kubectl(
          'patch',
          'agent',
          'no-image',
          '--type=merge',
          '-p',
          '{"spec":{"runtime":{"image":"localhost/ploinky/python:test"}}}',
        ),
      ),
      mend('by-policy', 'the policy goes', () =>
        space.kubectl('delete', 'validatingadmissionpolicybinding', `refuse-${space.namespace}`),
      ),
    ]);
    progress(`# mended in ${seconds(began)}`);
    await space.kubectl('delete', 'agents', '--all', '--timeout=120s');
  });

  it('runs in images without Node, with another C library, and from every source of code', async () => {
    await space.apply(...codeObjects);
    await fillClaim(space);
    const began = performance.now();
    await space.apply(...codeAgents.map(({ name, spec }) => agent(name, spec)));
    const done = codeAgents.map(async ({ name, what, answers }) => {
      await untilReady(name);
      note(what, began, 'Ready=True');
      assert.match(await call(name, 'tell'), answers, name);
    });
    const failed = (await Promise.allSettled(done)).flatMap((one) =>
      one.status === 'rejected' ? [one.reason] : [],
    );
    assert.deepEqual(failed, []);
  });

  it('says Halted after the fifth restart, and runs again when it was mended', {
    skip: runsSlowTests
      ? false
      : 'the kubelet takes five minutes for five restarts: PLOINKY_SLOW_TESTS=1 runs it',
  }, async () => {
    const began = performance.now();
    const crash = { command: ['node', '-e', "console.error('last words'); process.exit(7)"] };
    await space.apply(agent('halts', crash));
    const halted = await agents.until(
      'halts is Halted',
      (all) => {
        const condition = conditionOf(all.get('halts'), 'Halted');
        return condition?.status === 'True' && condition;
      },
      900_000,
    );
    note('five restarts', began, `Halted=True ${halted.reason}: ${halted.message}`);
    await space.kubectl(
      'patch',
      'agent',
      'halts',
      '--type=json',
      '-p',
      '[{"op":"remove","path":"/spec/command"}]',
    );
    await untilReady('halts');
  });
});
