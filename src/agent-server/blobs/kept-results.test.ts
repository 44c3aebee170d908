import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Log } from '#kit/log.ts';
import type { TaskRecord } from '../queue/queue.ts';
import type { TaskService } from '../tasks/service.ts';
import { keepResults } from './kept-results.ts';
import type { BlobStore, Upload } from './store.ts';

const log: Log = { debug() {}, info() {}, warn: (line) => assert.fail(line), error() {}, with: () => log };

test('a large result stays so long after the end of its task, and is not made anew then', async () => {
  const start = Date.parse('2026-01-01T00:00:00.000Z');
  const finishedAt = new Date(start).toISOString();
  const about = { id: 'a'.repeat(16), key: 'k', status: 'completed', attempt: 1, toolName: 'big' };
  const result = { content: [{ type: 'text', text: 'x'.repeat(100_000) }] };
  const record = { ...about, createdAt: finishedAt, finishedAt, result } as unknown as TaskRecord;
  const tasks = { get: async () => record } as unknown as TaskService;
  const uploads: Upload[] = [];
  const store = {
    find: async () => undefined,
    put: async (upload: Upload) => void uploads.push(upload),
  } as unknown as BlobStore;
  let now = start + 10_000;
  const clock = { now: () => now };
  const kept = keepResults(tasks, { store, agent: 'demo', slot: undefined, ttlSeconds: 60, clock, log });
  assert.match((await kept.get(record.id))?.resultBlob ?? '', /^ploinky:\/\/demo\/blobs\//);
  assert.deepEqual(
    uploads.map(({ ttlSeconds }) => ttlSeconds),
    [50],
  );
  now = start + 60_000;
  assert.equal((await kept.get(record.id))?.resultBlob, undefined);
  assert.equal(uploads.length, 1);
});
