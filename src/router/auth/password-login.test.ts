import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { test } from 'node:test';
import { systemClock } from '#kit/clock.ts';
import { silentLog } from '#kit/log.ts';
import { createFakeClock } from '#test/fixtures/fake-clock.ts';
import { createPasswordLogin } from './password-login.ts';
import { createPeopleBook } from './people.ts';
import { editablePeople, personNamed } from './testing/people.ts';

const realm = 'default/demo-users';
const people = createPeopleBook(
  editablePeople(realm, [personNamed('ana'), personNamed('old', { disabled: true })]),
);

test('the right password of a user who may come in', async () => {
  const login = createPasswordLogin({ people, clock: systemClock, log: silentLog });
  const check = (username: string, password: string) =>
    login.check({ realm, username, password, address: '::1' });
  const right = await check('ana', 'correct horse');
  assert.ok('person' in right && right.person.username === 'ana');
  for (const [user, text] of [
    ['ana', 'x'],
    ['nobody', 'correct horse'],
    ['old', 'correct horse'],
  ] as const)
    assert.deepEqual(await check(user, text), { wrong: true }, user);
});

test('10,000 wrong logins: a few are looked at, the others cost nothing and are told when to come again', async () => {
  const login = createPasswordLogin({ people, clock: createFakeClock(), log: silentLog });
  const before = process.cpuUsage();
  const seen = { wrong: 0, limited: 0 };
  for (let count = 0; count < 10_000; count += 1) {
    const address = `192.0.2.${count % 3}`;
    const result = await login.check({ realm, username: 'ana', password: `guess ${count}`, address });
    if ('retryAfter' in result) {
      seen.limited += 1;
      assert.ok(result.retryAfter >= 1);
    } else seen.wrong += 1;
  }
  assert.deepEqual(seen, { wrong: 10, limited: 9_990 });
  const { user, system } = process.cpuUsage(before);
  assert.ok((user + system) / 1000 < 5_000, `${(user + system) / 1000} ms of CPU`);
  // From one address, whatever names are tried.
  const many = createPasswordLogin({ people, clock: createFakeClock(), log: silentLog });
  const results = await Promise.all(
    Array.from({ length: 200 }, (_, count) =>
      many.check({ realm, username: `u${count}`, password: 'x', address: 'a' }),
    ),
  );
  assert.equal(results.filter((result) => 'wrong' in result).length, 30);
});

test('for an unknown user the same is computed as for a known one', async (t) => {
  const computed: unknown[] = [];
  const { scrypt } = crypto;
  t.mock.method(crypto, 'scrypt', (...given: Parameters<typeof scrypt>) => {
    const [, salt, length, options] = given;
    computed.push([Buffer.byteLength(salt as Buffer), length, options]);
    scrypt(...given);
  });
  syncBuiltinESMExports();
  t.after(() => {
    t.mock.restoreAll();
    syncBuiltinESMExports();
  });
  const computedFor = async (username: string) => {
    computed.length = 0;
    const login = createPasswordLogin({ people, clock: systemClock, log: silentLog });
    assert.deepEqual(await login.check({ realm, username, password: 'wrong', address: '::1' }), {
      wrong: true,
    });
    return [...computed];
  };
  const known = await computedFor('ana');
  assert.deepEqual(known, [[16, 32, { N: 32_768, r: 8, p: 1, maxmem: 68_157_440 }]]);
  for (const other of ['nobody', 'old']) assert.deepEqual(await computedFor(other), known, other);
});

test('an unknown user costs about as much CPU as a known one', async () => {
  const cheapest = async (username: string) => {
    const login = createPasswordLogin({ people, clock: systemClock, log: silentLog });
    const before = process.cpuUsage();
    await login.check({ realm, username, password: 'wrong', address: '::1' });
    return process.cpuUsage(before).user;
  };
  const known: number[] = [];
  const unknown: number[] = [];
  // The least of several, in turns: what else the machine does only adds. More rounds when it did a lot.
  for (let round = 0; round < 24; round += 1) {
    known.push(await cheapest('ana'));
    unknown.push(await cheapest('nobody'));
    if (round >= 3 && differenceOf(known, unknown) <= 0.25) return;
  }
  assert.fail(`${Math.min(...known)} and ${Math.min(...unknown)} us`);
});

function differenceOf(known: readonly number[], unknown: readonly number[]): number {
  const [one, other] = [Math.min(...known), Math.min(...unknown)];
  return Math.abs(one - other) / Math.max(one, other);
}

test('who finds no room has tried nothing: the right password still counts afterwards', async () => {
  const release = Promise.withResolvers<void>();
  const login = createPasswordLogin({
    ...{ people, clock: createFakeClock(), log: silentLog },
    async isPasswordOf(password) {
      await release.promise;
      return password === 'correct horse';
    },
  });
  const crowd = Array.from({ length: 34 }, (_, at) =>
    login.check({ realm, username: `crowd ${at}`, password: 'x', address: `198.51.100.${at}` }),
  );
  const ana = { realm, username: 'ana', password: 'correct horse', address: '192.0.2.1' };
  for (let tries = 0; tries < 40; tries += 1) assert.deepEqual(await login.check(ana), { retryAfter: 2 });
  release.resolve();
  assert.equal((await Promise.all(crowd)).filter((result) => 'wrong' in result).length, 34, 'the control');
  assert.ok('person' in (await login.check(ana)));
});

test('logins with one’s own account buy no tries of others', async () => {
  const login = createPasswordLogin({
    ...{ people, clock: createFakeClock(), log: silentLog },
    isPasswordOf: (password) => Promise.resolve(password === 'correct horse'),
  });
  const check = (username: string, password: string) =>
    login.check({ realm, username, password, address: '192.0.2.1' });
  let wrong = 0;
  for (let count = 0; count < 100; count += 1) {
    if (count % 5 === 0) await check('ana', 'correct horse');
    if ('wrong' in (await check(`u${count}`, 'x'))) wrong += 1;
  }
  assert.equal(wrong, 30);
});

test('an IPv6 network counts as one client', async () => {
  const login = createPasswordLogin({
    ...{ people, clock: createFakeClock(), log: silentLog },
    isPasswordOf: () => Promise.resolve(false),
  });
  const wrongFrom = async (prefix: string) => {
    let wrong = 0;
    for (let count = 0; count < 100; count += 1) {
      const attempt = { realm, username: `${prefix}${count}`, password: 'x' };
      const result = await login.check({ ...attempt, address: `${prefix}${count.toString(16)}` });
      if ('wrong' in result) wrong += 1;
    }
    return wrong;
  };
  assert.equal(await wrongFrom('2001:db8::'), 30);
  assert.equal(await wrongFrom('2001:db8:0:1::'), 30, 'the next network');
  assert.equal(await wrongFrom('192.0.2.1'), 100, 'the control: other addresses');
});
