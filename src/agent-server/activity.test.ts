import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import type { Server } from 'node:http';
import { test } from 'node:test';
import { createFakeClock } from '#test/fixtures/fake-clock.ts';
import { watchActivity } from './activity.ts';

function createStage() {
  const server = new EventEmitter();
  const clock = createFakeClock();
  const stage = { busy: false, changes: 0 };
  const activity = watchActivity({
    server: server as unknown as Server,
    clock,
    idleAfterMs: 1_000,
    isBusy: async () => stage.busy,
    onChange: () => {
      stage.changes += 1;
    },
  });
  const request = (url: string) => {
    const response = new EventEmitter();
    server.emit('request', { url }, response);
    return () => response.emit('close');
  };
  return { stage, clock, activity, request };
}

test('who was not called for a while is idle, and no longer when a call comes', async () => {
  const { stage, clock, activity, request } = createStage();
  assert.equal(activity.idle, false);
  await clock.advance(1_000);
  assert.deepEqual([activity.idle, stage.changes], [true, 1]);
  const end = request('/mcp');
  assert.deepEqual([activity.idle, stage.changes], [false, 2]);
  await clock.advance(5_000);
  assert.equal(activity.idle, false, 'a stream that stays open is use');
  end();
  await clock.advance(999);
  assert.equal(activity.idle, false);
  await clock.advance(1);
  assert.deepEqual([activity.idle, stage.changes], [true, 3]);
});

test('probes, routers’ proofs and the controller’s stream are no use', async () => {
  const { clock, activity, request } = createStage();
  for (const path of ['/health', '/ready', '/changes', '/.well-known/ploinky-proof?nonce=x']) request(path);
  await clock.advance(1_000);
  assert.equal(activity.idle, true);
});

test('a task that runs with nobody waiting for it is use', async () => {
  const { stage, clock, activity } = createStage();
  stage.busy = true;
  await clock.advance(1_000);
  assert.equal(activity.idle, false);
  stage.busy = false;
  await clock.advance(1_000);
  assert.equal(activity.idle, true);
  activity.close();
});

test('it is quiet when nothing has run for a while, and when patience ends', async () => {
  const { clock, activity, request } = createStage();
  const end = request('/mcp');
  let quiet = 0;
  void activity.quiet(200, 10_000).then(() => (quiet = clock.monotonic()));
  await clock.advance(1_000);
  assert.equal(quiet, 0);
  end();
  await clock.advance(1_000);
  assert.ok(quiet >= 1_150 && quiet <= 1_300, String(quiet));
  request('/mcp');
  let given = false;
  void activity.quiet(200, 500).then(() => (given = true));
  await clock.advance(600);
  assert.equal(given, true);
});

test('it is not quiet while a task runs that nobody holds a request open for', async () => {
  const { stage, clock, activity } = createStage();
  stage.busy = true;
  let quiet = 0;
  void activity.quiet(200, 10_000).then(() => (quiet = clock.monotonic()));
  await clock.advance(1_000);
  assert.equal(quiet, 0);
  stage.busy = false;
  await clock.advance(1_000);
  assert.ok(quiet >= 1_150 && quiet <= 1_300, String(quiet));
});
