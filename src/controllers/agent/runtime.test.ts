import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chooseRuntime, type KnownDriver } from './runtime.ts';

const there = { ok: true, detail: '' } as const;
const absent = {
  ok: false,
  reason: 'bubblewrap is not installed.',
  remedy: 'apt-get install bubblewrap',
} as const;
const laptop: KnownDriver[] = [
  { name: 'bwrap', availability: there },
  { name: 'process', availability: there },
];

test('Auto takes the sandbox that is there', () => {
  assert.deepEqual(chooseRuntime('Auto', laptop), { ok: true, class: 'Bwrap', driver: 'bwrap' });
});

test('Auto never falls back to running without a sandbox', () => {
  const choice = chooseRuntime('Auto', [
    { name: 'bwrap', availability: absent },
    { name: 'process', availability: there },
  ]);
  assert.deepEqual(choice, { ok: false, unavailable: absent });
});

test('Process runs when it is asked for', () => {
  assert.deepEqual(chooseRuntime('Process', laptop), { ok: true, class: 'Process', driver: 'process' });
});

test('a class without a driver says which classes there are', () => {
  const choice = chooseRuntime('Pod', laptop);
  assert.equal(choice.ok, false);
  if (!choice.ok)
    assert.match(`${choice.unavailable.reason} ${choice.unavailable.remedy}`, /Pod.*Bwrap, Process/);
});
