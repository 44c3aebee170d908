import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Agent } from '#api/agent.ts';
import { silentLog } from '#kit/log.ts';
import { createTableKeeper } from '#routing/keeper.ts';
import type { RoutingTable } from '#routing/table.ts';
import type { Target } from '#routing/target.ts';
import { agentNamed } from '#routing/testing.ts';
import { createFakeClock } from '#test/fixtures/fake-clock.ts';
import { createCatalog } from './catalog.ts';
import type { Item } from './list-kinds.ts';

interface State {
  readonly address?: string;
  readonly instance?: string;
  readonly digest?: string;
  readonly uid?: string;
  readonly ready?: boolean;
}

function agentIn({
  address = 'unix:/a',
  instance = 'i',
  digest = 'd',
  uid = 'u',
  ready = true,
}: State): Agent {
  const endpoint = { name: 'demo-0', uid: instance, address, ready, terminating: false };
  return agentNamed('demo', { uid, status: { endpoints: [endpoint], toolsDigest: digest } });
}

/** A catalog that follows one Agent, and how often it was asked. */
function stage() {
  const keeper = createTableKeeper({ homeNamespace: 'default', hostClaims: {} });
  let asked = 0;
  let answer: () => Promise<Item[]> = async () => [{ name: 'echo' }];
  const errors: unknown[] = [];
  let isBroken = false;
  const catalog = createCatalog({
    clock: createFakeClock(),
    log: { ...silentLog, error: (_, fields) => errors.push(fields?.['error']) },
    onListed: () => {
      if (isBroken) throw new Error('cannot look');
    },
    fetch: () => {
      asked += 1;
      return answer();
    },
    listTimeoutMs: 1_000,
    listMaxAgeMs: 60_000,
  });
  const follow = (agent: Agent): boolean => {
    keeper.putAgent(agent);
    return catalog.retain(keeper.table());
  };
  const targetIn = (table: RoutingTable): Target => {
    const target = table.targets.get('default/demo');
    assert.ok(target);
    return target;
  };
  return {
    follow,
    catalog,
    asked: () => asked,
    errors,
    breakListener: () => {
      isBroken = true;
    },
    list: () => catalog.part(targetIn(keeper.table()), 'tools'),
    answerWith: (next: typeof answer) => {
      answer = next;
    },
    remove: () => {
      keeper.removeAgent(agentIn({}));
      return catalog.retain(keeper.table());
    },
  };
}

test('an agent at another address is not asked again, and what was made of its list stays', async () => {
  const here = stage();
  here.follow(agentIn({}));
  await here.list();
  const { version } = here.catalog;
  assert.equal(here.follow(agentIn({ address: 'unix:/b' })), false);
  await here.list();
  assert.equal(here.asked(), 1);
  assert.equal(here.catalog.version, version);
});

const others: Record<string, State> = {
  'that lists something else': { digest: 'e' },
  'with another instance': { instance: 'j' },
  'made anew under its name': { uid: 'v' },
};
for (const [what, state] of Object.entries(others)) {
  test(`an agent ${what} is asked again`, async () => {
    const here = stage();
    here.follow(agentIn({}));
    await here.list();
    const { version } = here.catalog;
    assert.equal(here.follow(agentIn(state)), true);
    assert.notEqual(here.catalog.version, version);
    await here.list();
    assert.equal(here.asked(), 2);
  });
}

test('the last list of an agent that is away for a moment is kept; one made anew begins without', async () => {
  const here = stage();
  here.follow(agentIn({}));
  await here.list();
  assert.equal(here.follow(agentIn({ ready: false })), true);
  const away = await here.list();
  assert.deepEqual('last' in away && away.last, [{ name: 'echo' }]);
  here.follow(agentIn({ ready: false, uid: 'v' }));
  const anew = await here.list();
  assert.deepEqual('last' in anew && anew.last, []);
});

test('a list that comes when its agent is gone is not kept', async () => {
  const here = stage();
  const answer = Promise.withResolvers<Item[]>();
  here.answerWith(() => answer.promise);
  here.follow(agentIn({}));
  const listed = here.list();
  assert.equal(here.remove(), true);
  answer.resolve([{ name: 'echo' }]);
  await listed;
  here.follow(agentIn({ ready: false }));
  const again = await here.list();
  assert.deepEqual('last' in again && again.last, []);
});

test('a list is there although looking at it failed, which is logged', async () => {
  const here = stage();
  here.breakListener();
  here.follow(agentIn({}));
  const listed = await here.list();
  assert.deepEqual('items' in listed && listed.items, [{ name: 'echo' }]);
  assert.deepEqual(here.errors, ['cannot look']);
});
