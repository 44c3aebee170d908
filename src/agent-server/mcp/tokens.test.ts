import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { systemRandom } from '#kit/random.ts';
import { queueBinding } from '#wire/binding.ts';
import { mintInvocation } from '#wire/token.ts';
import { type TestServer, temporaryFolder, testConfig, testServer } from '../testing/harness.ts';

// Tokens at agent-servers that ask for them: used once, at one replica, also after a restart; and keys that change.

const limits = { timeout: 60_000 };
const agent = { namespace: 'default', name: 'demo', uid: 'uid-1' };
const keyOf = (byte: number) => ({ kid: `key${byte}`, secret: Buffer.alloc(32, byte) });

function token(instance: string, key = keyOf(7)): string {
  return mintInvocation(key, {
    ...{ agent, instance, caller: 'router:first-party', user: null, call: queueBinding },
    ...{ now: Date.now(), random: systemRandom },
  });
}

const configured = (instance: string, ...keys: ReturnType<typeof keyOf>[]) => ({
  agent: { ...agent, instance, principal: 'agent:default/demo' },
  keys: keys.map(({ kid, secret }) => ({ kid, secret: secret.toString('base64url') })),
});

function start(t: TestContext, instance: string, withoutTokens = false): Promise<TestServer> {
  return testServer(t, configured(instance, keyOf(7)), { withoutTokens });
}

async function use(server: TestServer, bearer: string): Promise<number> {
  return (await server.send('GET', '/queue', { authorization: `Bearer ${bearer}` })).status;
}

test('a token is good once, at one replica, and not after a restart', limits, async (t) => {
  const [one, two] = await Promise.all([start(t, 'one'), start(t, 'two')]);
  const used = token('one');
  assert.deepEqual([await use(one, used), await use(one, used), await use(two, used)], [200, 401, 401]);
  const kept = token('one');
  await one.server.close();
  await new Promise((resolve) => setTimeout(resolve, 5));
  const again = await start(t, 'one');
  assert.deepEqual([await use(again, used), await use(again, kept)], [401, 401]);
  assert.equal(await use(again, token('one')), 200, 'the control: one of its own');
});

test('without the defence a token is good as often as one likes: the control', limits, async (t) => {
  const open = await start(t, 'one', true);
  const used = token('one');
  assert.deepEqual([await use(open, used), await use(open, used)], [200, 200]);
});

test('keys change under load without a call that fails', limits, async (t) => {
  const server = await start(t, 'one');
  const folder = await temporaryFolder(t);
  let signing = keyOf(7);
  let isOver = false;
  const statuses: Record<number, number> = {};
  async function load(): Promise<void> {
    while (!isOver) {
      const status = await use(server, token('one', signing));
      statuses[status] = (statuses[status] ?? 0) + 1;
    }
  }
  const loads = Array.from({ length: 8 }, load);
  const steps = [[keyOf(8), keyOf(7)], 'sign', [keyOf(8)]] as const;
  for (const step of steps) {
    await new Promise((resolve) => setTimeout(resolve, 150));
    if (step === 'sign') signing = keyOf(8);
    else server.server.reconfigure(testConfig(folder, configured('one', ...step)));
  }
  await new Promise((resolve) => setTimeout(resolve, 150));
  isOver = true;
  await Promise.all(loads);
  assert.deepEqual(Object.keys(statuses), ['200'], JSON.stringify(statuses));
  assert.ok((statuses[200] ?? 0) > 50);
  assert.equal(await use(server, token('one', keyOf(7))), 401, 'the first one is gone');
});
