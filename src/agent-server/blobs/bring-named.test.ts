import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CallContext, Source } from '../source.ts';
import type { TaskService } from '../tasks/service.ts';
import { bringNamed } from './bring-named.ts';
import type { Blobs } from './service.ts';

test('a call that is cancelled does not wait for the blobs that it names', async () => {
  let ran = false;
  const source = { request: async () => (ran = true) } as unknown as Source;
  const store = { bring: () => new Promise<boolean>(() => undefined) };
  const blobs = { store, shared: true } as unknown as Blobs;
  const calls = bringNamed({ source, tasks: {} as TaskService }, blobs, 'demo');
  const ends = new AbortController();
  const call = { signal: ends.signal } as CallContext;
  const params = { name: 'read', arguments: { file: `blobs/${'a'.repeat(44)}ffff` } };
  const answer = calls.source.request('tools/call', params, call);
  ends.abort(new Error('cancelled'));
  await assert.rejects(answer, { message: 'cancelled' });
  assert.equal(ran, false);
});
