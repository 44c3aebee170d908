import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '#kit/log.ts';
import { createFakeClock, settle } from '#test/fixtures/fake-clock.ts';
import { type ConflictSource, publishTable } from './publish-table.ts';
import type { TableSource } from './sources.ts';

interface Written {
  readonly labels?: Record<string, string>;
  readonly annotations?: Record<string, string>;
}

function createStage(synced = true, peerAddress?: string, conflicts?: ConflictSource) {
  const callbacks = new Set<() => void>();
  const stage = {
    digest: 'd1',
    synced,
    fail: false,
    written: [] as (string | undefined)[],
    last: undefined as Written | undefined,
    deleted: 0,
    clock: createFakeClock(),
    change(digest: string) {
      stage.digest = digest;
      for (const callback of callbacks) callback();
    },
  };
  const tables = {
    current: () => ({ digest: stage.digest }),
    get synced() {
      return stage.synced;
    },
    subscribe(callback: () => void) {
      callbacks.add(callback);
      return () => callbacks.delete(callback);
    },
  } as unknown as TableSource;
  const client = {
    async apply(_resource: unknown, lease: { metadata: Written }) {
      if (stage.fail) throw new Error('the API is away');
      stage.last = lease.metadata;
      stage.written.push(lease.metadata.annotations?.['ploinky.dev/routing-table']);
      return lease;
    },
    async delete() {
      stage.deleted += 1;
    },
  } as unknown as Parameters<typeof publishTable>[0]['client'];
  const publisher = publishTable({
    client,
    tables,
    namespace: 'default',
    name: 'r',
    clock: stage.clock,
    log: silentLog,
    ...(peerAddress !== undefined && { peerAddress }),
    ...(conflicts !== undefined && { conflicts }),
  });
  return { stage, publisher };
}

test('a table is published at once, at each change and as a sign of life', async () => {
  const { stage, publisher } = createStage();
  await settle();
  stage.change('d2');
  await stage.clock.advance(100);
  assert.deepEqual(stage.written, ['d1', 'd2']);
  await stage.clock.advance(15_000);
  assert.deepEqual(stage.written, ['d1', 'd2', 'd2']);
  await publisher.stop();
  assert.equal(stage.deleted, 1);
});

test('a table that is not complete yet is not published', async () => {
  const { stage, publisher } = createStage(false);
  await stage.clock.advance(1_000);
  assert.deepEqual(stage.written, []);
  stage.synced = true;
  stage.change('d2');
  await stage.clock.advance(100);
  assert.equal(stage.written.at(-1), 'd2');
  await publisher.stop();
});

test('a write that fails is tried again with the next sign of life', async () => {
  const { stage, publisher } = createStage();
  await settle();
  stage.fail = true;
  stage.change('d2');
  await stage.clock.advance(100);
  assert.deepEqual(stage.written, ['d1']);
  stage.fail = false;
  await stage.clock.advance(15_000);
  assert.equal(stage.written.at(-1), 'd2');
  await publisher.stop();
});

test('the Lease can be found by its label and says where other routers reach this one, when they do', async () => {
  for (const address of [undefined, '10.0.0.1:8082']) {
    const { stage, publisher } = createStage(true, address);
    await settle();
    assert.deepEqual(stage.last?.labels, { 'app.kubernetes.io/component': 'router' });
    assert.equal(stage.last?.annotations?.['ploinky.dev/router-peer'], address);
    await publisher.stop();
  }
});

test('the first change is published at once, and those that follow it soon together', async () => {
  const { stage, publisher } = createStage();
  await stage.clock.advance(1_000);
  for (const digest of ['d2', 'd3', 'd4']) {
    stage.change(digest);
    await settle();
  }
  assert.deepEqual(stage.written, ['d1', 'd2']);
  await stage.clock.advance(100);
  assert.deepEqual(stage.written, ['d1', 'd2', 'd4']);
  await publisher.stop();
});

test('names that several agents have are said when they change, and not when there are none', async () => {
  const callbacks = new Set<() => void>();
  const conflicts = {
    text: '',
    subscribe(callback: () => void) {
      callbacks.add(callback);
      return () => callbacks.delete(callback);
    },
  };
  const { stage, publisher } = createStage(true, undefined, conflicts);
  await settle();
  assert.equal(stage.last?.annotations?.['ploinky.dev/name-conflicts'], undefined);
  conflicts.text = '{"default/a":[["tools","echo",["x","y"]]]}';
  for (const callback of callbacks) callback();
  await stage.clock.advance(100);
  assert.equal(stage.last?.annotations?.['ploinky.dev/name-conflicts'], conflicts.text);
  assert.equal(stage.written.length, 2);
  await publisher.stop();
  assert.equal(callbacks.size, 0);
});
