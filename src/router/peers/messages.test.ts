import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { deriveAgentKey, deriveSubkey } from '#wire/keys.ts';
import { seal } from '#wire/seal.ts';
import { demoAgent, masterKey } from '#wire/testing.ts';
import {
  isPeerAddress,
  longestMessage,
  openEnded,
  openGreeting,
  sealEnded,
  sealGreeting,
} from './messages.ts';

const now = Date.UTC(2026, 0, 1);
const keys = [deriveSubkey(masterKey(1), 'session-seal')];
const ended = [{ key: 'a', expires: now / 1000 + 100 }];
const greeting = { from: '10.0.0.1:8082', missed: false };

test('what is said is what is heard, in messages that fit, however much it is', () => {
  const units = [...'abcXYZ019-_', '"', '\u0001', '日'];
  const key = fc.oneof(
    fc.string({ minLength: 1, maxLength: 22, unit: fc.constantFrom(...'abcXYZ019-_') }),
    fc.string({ minLength: 60, maxLength: 64, unit: fc.constantFrom(...units) }),
  );
  const expires = fc.integer({ min: 1, max: 99_999_999_999 });
  fc.assert(
    fc.property(fc.array(fc.record({ key, expires }), { maxLength: 200 }), (list) => {
      const messages = sealEnded(keys, 'peer-list', list, now);
      assert.ok(messages.every((message) => message.length <= longestMessage));
      const heard = messages.flatMap((message) => openEnded(keys, 'peer-list', message, now) ?? []);
      assert.deepEqual(
        heard,
        list.map(({ key, expires }) => ({ key, expires })),
      );
    }),
  );
  assert.deepEqual(openGreeting(keys, sealGreeting(keys, greeting, now), now), greeting);
});

test('keys as long as they may be fit, and one that nobody would hear is left out', () => {
  for (const letter of ['k', '\u0001', '日']) {
    const long = Array.from({ length: 16 }, () => ({ key: letter.repeat(64), expires: 99_999_999_999 }));
    const messages = sealEnded(keys, 'peer-ended', [...long, { key: 'k'.repeat(2_000), expires: 1 }], now);
    const heard = messages.flatMap((message) => openEnded(keys, 'peer-ended', message, now) ?? []);
    assert.deepEqual(heard, long);
  }
});

test('a message is good for a minute, by clocks that differ a little', () => {
  const [message = ''] = sealEnded(keys, 'peer-ended', ended, now);
  const hello = sealGreeting(keys, greeting, now);
  for (const [later, good] of [
    [-70_000, false],
    [-59_000, true],
    [0, true],
    [59_000, true],
    [60_000, false],
  ] as const) {
    assert.equal(openEnded(keys, 'peer-ended', message, now + later) !== undefined, good, `${later} ms`);
    assert.equal(openGreeting(keys, hello, now + later) !== undefined, good, `${later} ms`);
  }
});

test('what was sealed for something else, by an agent, with another master or by nobody is no message', () => {
  const agentKey = [deriveAgentKey(masterKey(1), demoAgent)];
  const foreign = [deriveSubkey(masterKey(2), 'session-seal')];
  const sibling = [deriveSubkey(masterKey(1), 'delegation')];
  const [good = ''] = sealEnded(keys, 'peer-ended', ended, now);
  const changed = `${good.slice(0, 40)}${good[40] === 'A' ? 'B' : 'A'}${good.slice(41)}`;
  const forged = [
    ...[agentKey, foreign, sibling].flatMap((other) => sealEnded(other, 'peer-ended', ended, now)),
    ...sealEnded(keys, 'peer-list', ended, now),
    seal(keys, 'mcp-session', { x: now / 1000 + 60, e: [['a', now / 1000 + 100]] }),
    sealGreeting(keys, greeting, now),
    changed,
    good.slice(0, -1),
    `${good}\n`,
    JSON.stringify({ x: now / 1000 + 60, e: [['a', now / 1000 + 100]] }),
    '',
  ];
  for (const message of forged) assert.equal(openEnded(keys, 'peer-ended', message, now), undefined, message);
  assert.deepEqual(openEnded(keys, 'peer-ended', good, now), ended);
  const hello = [agentKey, foreign, sibling].map((other) => sealGreeting(other, greeting, now));
  for (const message of [...hello, good]) assert.equal(openGreeting(keys, message, now), undefined);
});

test('sealed nonsense is no message', () => {
  const x = now / 1000 + 60;
  for (const e of [undefined, 'a', [1], [['a']], [['a', 'b']], [[1, 2]], [['a'.repeat(65), 1]]]) {
    assert.equal(openEnded(keys, 'peer-ended', seal(keys, 'peer-ended', { x, e }), now), undefined);
  }
  for (const f of [undefined, 7, 'example.org:80', '10.0.0.1', '10.0.0.1:80/x', 'u@10.0.0.1:80']) {
    assert.equal(openGreeting(keys, seal(keys, 'peer-greeting', { x, f, m: false }), now), undefined);
  }
});

test('a peer is an address, never a name', () => {
  for (const good of ['10.0.0.1:8082', '[fd00::1]:8082']) assert.ok(isPeerAddress(good), good);
  for (const bad of [
    'router:8082',
    '10.0.0.1',
    '10.0.0.1:',
    '10.0.0.1:8082/x',
    'fd00::1:8082',
    '10.0.0.1:8082\n',
  ]) {
    assert.ok(!isPeerAddress(bad), bad);
  }
});
