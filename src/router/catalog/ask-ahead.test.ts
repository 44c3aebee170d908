import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Agent } from '#api/agent.ts';
import { silentLog } from '#kit/log.ts';
import { createTableKeeper } from '#routing/keeper.ts';
import { agentNamed } from '#routing/testing.ts';
import { createFakeClock } from '#test/fixtures/fake-clock.ts';
import { createAskAhead } from './ask-ahead.ts';
import { createCatalog } from './catalog.ts';

const turn = () => new Promise(setImmediate);

/** A catalog of two agents, and which kinds of list they were asked for. */
function stage(listsAhead: number) {
  const keeper = createTableKeeper({ homeNamespace: 'default', hostClaims: {} });
  const clock = createFakeClock();
  const asked: string[] = [];
  const catalog = createCatalog({
    ...{ clock, log: silentLog, listTimeoutMs: 1_000, listMaxAgeMs: 60_000, listsAhead },
    fetch: async ({ name }, kind) => {
      asked.push(`${name} ${kind}`);
      return [{ name: 'echo' }];
    },
  });
  const put = (name: string, digest: string) => {
    const endpoint = { name, uid: 'i', address: 'unix:/a', ready: true, terminating: false };
    const status = { endpoints: [endpoint], toolsDigest: digest };
    keeper.putAgent(agentNamed(name, { uid: name, status } as Partial<Agent>));
    catalog.retain(keeper.table());
  };
  const ask = async (name: string) => {
    const target = keeper.table().targets.get(`default/${name}`);
    assert.ok(target);
    await catalog.part(target, 'tools');
  };
  return { clock, asked, put, ask };
}

test('what somebody wanted to know is asked again when it changes, and nothing else', async () => {
  const { asked, put, ask } = stage(4);
  for (const name of ['one', 'two']) put(name, 'first');
  await ask('one');
  for (const name of ['one', 'two']) put(name, 'second');
  await turn();
  assert.deepEqual(asked, ['one tools', 'one tools']);
  await ask('one');
  assert.equal(asked.length, 2, 'the client finds it');
});

test('where nobody asks any more, it ends with the age of the list', async () => {
  const { clock, asked, put, ask } = stage(4);
  put('one', 'first');
  await ask('one');
  for (let index = 1; index <= 10; index += 1) {
    await clock.advance(10_000);
    put('one', `d${index}`);
    await turn();
  }
  assert.equal(asked.length, 6, 'asked by the client, and ahead within the minute after it');
});

test('without room for any, none is asked ahead', async () => {
  const { asked, put, ask } = stage(0);
  put('one', 'first');
  await ask('one');
  put('one', 'second');
  await turn();
  assert.equal(asked.length, 1);
});

test('few are asked at once, each as it is when its turn comes, and none twice within a second', async () => {
  const clock = createFakeClock();
  const ahead = createAskAhead(2, clock);
  const running: (() => void)[] = [];
  const begun: string[] = [];
  const plan = (name: string, words: string) =>
    ahead.plan(name, () => {
      begun.push(words);
      return new Promise<void>((resolve) => running.push(resolve));
    });
  for (const name of ['a', 'b', 'c']) plan(name, name);
  plan('c', 'c anew');
  plan('a', 'a anew');
  assert.deepEqual(begun, ['a', 'b']);
  for (let index = 0; index < 4; index += 1) {
    running.shift()?.();
    await turn();
  }
  assert.deepEqual(begun, ['a', 'b', 'c anew']);
  await clock.advance(1_000);
  plan('a', 'a later');
  assert.equal(begun.at(-1), 'a later');
});
