import assert from 'node:assert/strict';
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

test('an unknown user takes as long as a known one', async () => {
  const times: Record<'known' | 'unknown', number[]> = { known: [], unknown: [] };
  for (let round = 0; round < 24; round += 1) {
    const login = createPasswordLogin({ people, clock: systemClock, log: silentLog });
    // Who goes first takes turns, so that what else the machine does falls on both.
    for (const who of round % 2 === 0 ? (['known', 'unknown'] as const) : (['unknown', 'known'] as const)) {
      const before = process.cpuUsage();
      await login.check({
        realm,
        username: who === 'known' ? 'ana' : 'nobody',
        password: 'wrong',
        address: '::1',
      });
      const { user } = process.cpuUsage(before);
      times[who].push(user);
    }
  }
  const [known, unknown] = [median(times.known), median(times.unknown)];
  const difference = Math.abs(known - unknown) / known;
  assert.ok(difference <= 0.05, `${known} and ${unknown} us: ${(difference * 100).toFixed(1)} %`);
});

function median(values: number[]): number {
  return values.sort((left, right) => left - right)[Math.floor(values.length / 2)] ?? 0;
}
