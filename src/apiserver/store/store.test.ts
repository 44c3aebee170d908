import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { systemClock } from '#kit/clock.ts';
import { silentLog } from '#kit/log.ts';
import { systemRandom } from '#kit/random.ts';
import type { ApiObject } from '../object.ts';
import { createCipher } from './cipher.ts';
import type { Change } from './history.ts';
import { type Journal, openJournal } from './journal.ts';
import { Store } from './store.ts';

const folder = mkdtempSync(join(tmpdir(), 'ploinky-store-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const things = { id: 'things', secret: false };
const secrets = { id: 'secrets', secret: true };
const thing = (name: string, more: Record<string, unknown> = {}): ApiObject => ({
  apiVersion: 'v1',
  kind: 'Thing',
  metadata: { name },
  ...more,
});

function openStore(journal: Journal, key: Uint8Array = Buffer.alloc(32, 7), historyLimit = 100): Store {
  return new Store({
    journal,
    cipher: createCipher(key, systemRandom),
    clock: systemClock,
    log: silentLog,
    storages: [things, secrets],
    historyLimit,
    batchLimit: 16,
  });
}

test('writes that wait together share a commit, and each sees the ones before it', async () => {
  const journal = openJournal(join(folder, 'batch.db'));
  let commits = 0;
  const counted: Journal = {
    ...journal,
    commit(version) {
      commits += 1;
      journal.commit(version);
    },
  };
  const store = openStore(counted);
  const counts = await Promise.all(
    Array.from({ length: 10 }, (_, index) =>
      store.transact((transaction) => {
        transaction.put(things, `t${index}`, thing(`t${index}`));
        return [...transaction.keys(things)].length;
      }),
    ),
  );
  assert.deepEqual(counts, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  assert.equal(commits, 1);
  assert.equal(store.version, 10);
  store.close();
});

test('a write that fails takes nothing with it, and the others of its batch stand', async () => {
  const store = openStore(openJournal(join(folder, 'refused.db')));
  const results = await Promise.allSettled([
    store.transact((transaction) => transaction.put(things, 'a', thing('a'))),
    store.transact(() => {
      throw new Error('refused');
    }),
    store.transact((transaction) => transaction.put(things, 'b', thing('b'))),
  ]);
  assert.deepEqual(
    results.map((result) => result.status),
    ['fulfilled', 'rejected', 'fulfilled'],
  );
  assert.deepEqual(store.keys(things), ['a', 'b']);
  store.close();
});

test('when the disk refuses a commit nobody is told yes and nothing is seen', async () => {
  const journal = openJournal(join(folder, 'full.db'));
  let full = false;
  const failing: Journal = {
    ...journal,
    commit(version) {
      if (full) throw new Error('disk full');
      journal.commit(version);
    },
  };
  const store = openStore(failing);
  const seen: Change[] = [];
  store.onChange((_storage, changes) => void seen.push(...changes));
  await store.transact((transaction) => transaction.put(things, 'a', thing('a', { size: 1 })));
  full = true;
  const refused = await Promise.allSettled([
    store.transact((transaction) => transaction.put(things, 'a', thing('a', { size: 2 }))),
    store.transact((transaction) => transaction.remove(things, 'a')),
    store.transact((transaction) => transaction.put(things, 'b', thing('b'))),
  ]);
  assert.ok(refused.every((result) => result.status === 'rejected'));
  assert.equal(store.get(things, 'a')?.object['size'], 1);
  assert.deepEqual(store.keys(things), ['a']);
  assert.deepEqual([store.version, seen.length], [1, 1]);
  full = false;
  await store.transact((transaction) => transaction.put(things, 'b', thing('b')));
  assert.equal(store.version, 2);
  store.close();
  const again = openStore(openJournal(join(folder, 'full.db')));
  assert.deepEqual([again.keys(things), again.version], [['a', 'b'], 2]);
  again.close();
});

test('a removal has a version of its own, which a restart keeps', async () => {
  const file = join(folder, 'removal.db');
  const store = openStore(openJournal(file));
  await store.transact((transaction) => transaction.put(things, 'a', thing('a')));
  const last = await store.transact((transaction) => transaction.remove(things, 'a'));
  assert.equal(last.object.metadata.resourceVersion, '2');
  assert.deepEqual(
    store
      .history(things)
      .since(0)
      ?.map((change) => change.version),
    [1, 2],
  );
  store.close();
  const again = openStore(openJournal(file));
  assert.deepEqual([again.version, again.keys(things)], [2, []]);
  assert.equal(again.history(things).since(1), undefined, 'what came before the start is not known');
  assert.deepEqual(again.history(things).since(2), []);
  again.close();
});

test('a sealed row opens only with its key and in its own place', () => {
  const cipher = createCipher(Buffer.alloc(32, 1), systemRandom);
  const sealed = cipher.seal('{"data":1}', 'secrets/default/a');
  assert.equal(cipher.open(sealed, 'secrets/default/a'), '{"data":1}');
  assert.throws(() => cipher.open(sealed, 'secrets/default/b'), /cannot be decrypted/);
  assert.throws(() => createCipher(Buffer.alloc(32, 2), systemRandom).open(sealed, 'secrets/default/a'));
  const broken = Buffer.from(sealed);
  broken[broken.length - 1] = (broken.at(-1) ?? 0) ^ 1;
  assert.throws(() => cipher.open(broken, 'secrets/default/a'));
});
