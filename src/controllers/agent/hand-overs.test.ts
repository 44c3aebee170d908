import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '#kit/log.ts';
import { systemRandom } from '#kit/random.ts';
import { createFakeClock } from '#test/fixtures/fake-clock.ts';
import { WireError } from '#wire/errors.ts';
import type { HandOverOptions } from '#wire/hand-over.ts';
import { createHandOvers } from './hand-overs.ts';

function stage(send: (options: HandOverOptions, count: number) => void | Promise<void>) {
  const clock = createFakeClock();
  const sent: string[] = [];
  const handOvers = createHandOvers({
    clock,
    random: { ...systemRandom, fraction: () => 0 },
    log: silentLog,
    async send(options) {
      sent.push(`${options.instance} ${JSON.stringify(options.secrets)}`);
      await send(options, sent.length);
    },
  });
  return { clock, sent, handOvers };
}

const target = (instance: string) => ({
  agent: { namespace: 'default', name: 'demo', uid: 'u' },
  instance,
  address: 'unix:/run/demo',
  keys: [],
});
const secrets = (key: string) => ({ headers: { key } });

test('an instance gets the same secrets once, and others when they change', async () => {
  const { sent, handOvers, clock } = stage(() => undefined);
  for (const key of ['a', 'a', 'b', 'b']) handOvers.give('u', [target('i1')], secrets(key));
  handOvers.give('u', [target('i1'), target('i2')], secrets('b'));
  await clock.advance(60_000);
  assert.deepEqual(sent, [
    'i1 {"headers":{"key":"a"}}',
    'i2 {"headers":{"key":"b"}}',
    'i1 {"headers":{"key":"b"}}',
  ]);
});

test('what does not arrive is given again, until something newer is or the instance is gone', async () => {
  const { sent, handOvers, clock } = stage((_options, count) => {
    if (count < 3) throw new WireError('ConnectFailed', 'not there yet');
  });
  handOvers.give('u', [target('i1')], secrets('a'));
  await clock.advance(5_000);
  assert.equal(sent.length, 3);
  const failing = stage(() => {
    throw new WireError('ConnectFailed', 'gone');
  });
  failing.handOvers.give('u', [target('i1')], secrets('a'));
  await failing.clock.advance(1_000);
  failing.handOvers.give('u', [], secrets('a'));
  const before = failing.sent.length;
  await failing.clock.advance(120_000);
  assert.ok(before > 1 && failing.sent.length === before, `${before} ${failing.sent.length}`);
});

test('an agent-server that does not know the request is left alone', async () => {
  const { sent, handOvers, clock } = stage(() => {
    throw new WireError('Refused', 'HTTP 404');
  });
  handOvers.give('u', [target('i1')], secrets('a'));
  await clock.advance(120_000);
  assert.equal(sent.length, 1);
});

test('an agent-server that knows the request and does not take it is given it again', async () => {
  const { sent, handOvers, clock } = stage((_options, count) => {
    if (count < 3) throw new WireError('NotTaken', 'HTTP 401');
  });
  handOvers.give('u', [target('i1')], secrets('a'));
  await clock.advance(120_000);
  assert.equal(sent.length, 3);
});

test('what is on its way arrives before what is newer is sent, also to an instance that was not wanted in between', async () => {
  const arrive: (() => void)[] = [];
  const { sent, handOvers, clock } = stage(() => new Promise((resolve) => arrive.push(resolve)));
  handOvers.give('u', [target('i1')], secrets('a'));
  handOvers.give('u', [target('i1')], secrets('b'));
  handOvers.give('u', [], secrets('b'));
  handOvers.give('u', [target('i1')], secrets('c'));
  await clock.advance(60_000);
  assert.deepEqual(sent, ['i1 {"headers":{"key":"a"}}']);
  arrive[0]?.();
  await clock.advance(60_000);
  assert.deepEqual(sent.slice(1), ['i1 {"headers":{"key":"c"}}']);
});
