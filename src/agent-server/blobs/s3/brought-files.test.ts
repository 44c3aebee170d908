import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { systemClock } from '#kit/clock.ts';
import type { BlobInfo } from '#wire/blobs.ts';
import { temporaryFolder } from '../../testing/harness.ts';
import { broughtFiles } from './brought-files.ts';

const idOf = (letter: string) => `${letter.repeat(44)}ffff`;
const infoOf = (id: string, size: number): BlobInfo => ({
  ...{ id, size, mime: 'text/plain', createdAt: '2026-01-01T00:00:00.000Z', agent: 'demo' },
  ...{ filename: null, localPath: `blobs/${id}`, sha256: 'a'.repeat(64) },
});
const contentOf = (size: number) => async () =>
  (async function* () {
    yield Buffer.alloc(size, 'x');
  })();

async function stand(t: TestContext, maxBytes = 1000) {
  const workspace = await temporaryFolder(t);
  let passed = 0;
  const clock = { ...systemClock, now: () => systemClock.now() + passed };
  return {
    open: () => broughtFiles({ workspace, clock, maxBytes }),
    there: () => (existsSync(join(workspace, 'blobs')) ? readdirSync(join(workspace, 'blobs')).sort() : []),
    path: (name: string) => join(workspace, 'blobs', name),
    pass: (ms: number) => {
      passed += ms;
    },
  };
}

const hourMs = 3_600_000;
const [a, b, c] = [idOf('a'), idOf('b'), idOf('c')];

test('copies of before a restart are forgotten and swept, and what is no copy stays', async (t) => {
  const { open, there, path } = await stand(t);
  for (const id of [a, b, c]) await open().bring(infoOf(id, 3), contentOf(3));
  const own = idOf('d');
  writeFileSync(path(own), 'own');
  writeFileSync(path(`${own}.json`), JSON.stringify(infoOf(own, 3)));
  const longAgo = (Date.now() - 25 * hourMs) / 1000;
  utimesSync(path(`${c}.json`), longAgo, longAgo);
  const next = open();
  await next.forget(a);
  await next.forget(own);
  assert.deepEqual(there(), [b, `${b}.json`, c, `${c}.json`, own, `${own}.json`]);
  await next.sweep(async () => true);
  assert.deepEqual(there(), [b, `${b}.json`, own, `${own}.json`]);
  await next.sweep(async () => false);
  assert.deepEqual(there(), [own, `${own}.json`]);
});

test('a blob that is deleted while it is copied leaves no copy', async (t) => {
  const { open, there } = await stand(t);
  const files = open();
  const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>();
  const bringing = files.bring(infoOf(a, 3), async () => {
    await arrived;
    return contentOf(3)();
  });
  const forgetting = files.forget(a);
  arrive();
  await Promise.all([bringing, forgetting]);
  assert.deepEqual(there(), []);
});

test('copies take no more than they may: those that no call named for an hour make room', async (t) => {
  const { open, there, pass } = await stand(t, 10);
  const files = open();
  await files.bring(infoOf(a, 6), contentOf(6));
  await assert.rejects(files.bring(infoOf(b, 6), contentOf(6)), { code: 'QuotaExceeded' });
  await files.bring(infoOf(c, 4), contentOf(4));
  assert.deepEqual(there(), [a, `${a}.json`, c, `${c}.json`]);
  pass(hourMs + 1);
  await files.bring(infoOf(c, 4), contentOf(4));
  await files.bring(infoOf(b, 6), contentOf(6));
  assert.deepEqual(there(), [b, `${b}.json`, c, `${c}.json`]);
  await assert.rejects(files.bring(infoOf(a, 11), contentOf(11)), { code: 'QuotaExceeded' });
});

test('what comes incomplete is no copy, and takes no room', async (t) => {
  const { open, there, path } = await stand(t, 10);
  mkdirSync(path(''));
  const files = open();
  await assert.rejects(files.bring(infoOf(a, 6), contentOf(5)), { code: 'StoreFailed' });
  assert.ok(!there().includes(a));
  await files.bring(infoOf(b, 10), contentOf(10));
  assert.ok(there().includes(b));
});
