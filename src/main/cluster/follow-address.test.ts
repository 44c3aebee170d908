import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '#kit/log.ts';
import { createFakeClock } from '#test/fixtures/fake-clock.ts';
import { followAddress } from './follow-address.ts';

function stage(host: string) {
  const clock = createFakeClock();
  const stop = new AbortController();
  const changes: string[] = [];
  const answers: { now: readonly string[] | Error } = { now: [] };
  const following = followAddress({
    address: { host, port: 8081 },
    resolve: async () => {
      if (answers.now instanceof Error) throw answers.now;
      return answers.now;
    },
    clock,
    log: silentLog,
    signal: stop.signal,
    onChange: (address) => changes.push(address),
  });
  return { clock, stop, changes, answers, following };
}

test('an address needs no resolving', async () => {
  assert.equal(await stage('10.0.0.1').following, '10.0.0.1:8081');
  assert.equal(await stage('fd00::1').following, '[fd00::1]:8081');
});

test('a name is asked for until it has an address', async () => {
  const { clock, stop, answers, following } = stage('router.svc');
  answers.now = new Error('ENOTFOUND');
  await clock.advance(5_000);
  answers.now = ['10.0.0.1'];
  await clock.advance(10_000);
  assert.equal(await following, '10.0.0.1:8081');
  stop.abort();
  await clock.advance(0);
  assert.equal(clock.pending, 0);
});

test('another address of the name is told once, an outage of the resolver or a longer list is not', async () => {
  const { clock, stop, changes, answers, following } = stage('router.svc');
  answers.now = ['10.0.0.1'];
  await clock.advance(1_000);
  await following;
  answers.now = ['10.0.0.2', '10.0.0.1'];
  await clock.advance(30_000);
  answers.now = new Error('EAI_AGAIN');
  await clock.advance(30_000);
  assert.deepEqual(changes, []);
  answers.now = ['10.0.0.2'];
  await clock.advance(90_000);
  assert.deepEqual(changes, ['10.0.0.2:8081']);
  stop.abort();
});
