import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Target, TargetEndpoint } from '#routing/target.ts';
import { createFakeClock } from '#test/fixtures/fake-clock.ts';
import type { TableSource } from '../sources.ts';
import { findReady, type Ready } from './ready.ts';

const ready = ['a', 'b', 'c'].map((uid, slot) => ({ uid, address: `10.0.0.${uid}`, slot }));
const others = [{ uid: 'ending', address: '10.0.0.9' }];
const tables = {
  synced: true,
  current: () => ({ targets: new Map([['default/x', { ready, others, replicas: 4 } as unknown as Target]]) }),
  subscribe: () => () => undefined,
} as unknown as TableSource;

async function find(
  affinity?: string,
  preferred?: string,
  except?: TargetEndpoint,
  preferredSlot?: number,
): Promise<string> {
  const found: Ready = await findReady('default/x', {
    tables,
    clock: createFakeClock(),
    waitMs: 0,
    affinity,
    preferred,
    preferredSlot,
    except,
  });
  return found.endpoint.uid;
}

test('a call that names an instance goes there while it lives, and elsewhere afterwards', async () => {
  for (const { uid } of ready) assert.equal(await find('session', uid), uid);
  assert.equal(await find('session', 'd'), await find('session'), 'where the session is');
});

test('what goes on at an instance that ends or is not ready is sought there first, and nothing new', async () => {
  assert.equal(await find('session', 'ending'), 'ending');
  const failed = { uid: 'ending', address: '10.0.0.9', terminating: true };
  assert.equal(await find('session', 'ending', failed), await find('session'));
  for (let index = 0; index < 60; index += 1) assert.notEqual(await find(`session-${index}`), 'ending');
});

test('what stays with a workspace is sought at the instance that it names, and then at the one in its slot', async () => {
  for (const { uid, slot } of ready) {
    assert.equal(await find('session', 'gone', undefined, slot), uid);
    assert.equal(await find('session', uid, undefined, 2), uid);
  }
  assert.equal(await find('session', 'ending', undefined, 1), 'ending');
  assert.equal(await find('session', 'gone', undefined, 7), await find('session'));
});

test('a slot that the agent does not have is no reason to wait for it', async () => {
  const at = async (slotIfThere: number) =>
    (await findReady('default/x', { tables, clock: createFakeClock(), waitMs: 0, slotIfThere })).endpoint.uid;
  assert.equal(await at(1), 'b');
  assert.ok(['a', 'b', 'c'].includes(await at(9)));
  // It is away, and it may come back.
  const away = { tables, clock: createFakeClock(), waitMs: 0, slotIfThere: 3 };
  const waited = assert.rejects(Promise.resolve(findReady('default/x', away)), { code: 'AgentUnavailable' });
  await away.clock.advance(1);
  await waited;
});

test('sessions spread over the instances, and stay where they are', async () => {
  const keys = Array.from({ length: 60 }, (_, index) => `session-${index}`);
  const findAll = () => Promise.all(keys.map((key) => find(key)));
  const first = await findAll();
  assert.deepEqual(await findAll(), first);
  assert.equal(new Set(first).size, 3);
});
