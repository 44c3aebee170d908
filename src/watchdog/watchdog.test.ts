import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFakeClock, settle } from '#test/fixtures/fake-clock.ts';
import type { HealthTarget } from './health.ts';
import { defaultSettings } from './settings.ts';
import { startWatchdog } from './watchdog.ts';

// The real watchdog over a fake world: programs that live and die when told, and a clock that moves when told.

interface Exit {
  code: number | null;
  signal: string | null;
}

/** A program that ends at once on SIGTERM unless it is deaf. */
function createWorld(options: { deaf?: readonly string[]; restarts?: Record<string, number[]> } = {}) {
  const clock = createFakeClock();
  const log: string[] = [];
  const running = new Map<string, (exit: Exit) => void>();
  const unhealthy = new Set<string>();
  let saved: Readonly<Record<string, readonly number[]>> = {};
  let pid = 100;
  const silentOutput = { write() {}, close() {} };
  const watchdog = startWatchdog({
    children: ['first', 'second'].map((name) => ({
      name,
      program: { command: name, args: [], cwd: '/', env: {}, passFds: [] },
      health: { socketPath: name, path: '/' },
    })),
    settings: defaultSettings,
    clock,
    random: { fraction: () => 0.5, bytes: (size) => Buffer.alloc(size), uuid: () => '' },
    journal: (_level, event, fields) => log.push(`${event} ${String(fields?.['server'] ?? '')}`.trim()),
    outputFor: () => silentOutput,
    spawn: async ({ command }) => {
      const exited = Promise.withResolvers<Exit>();
      running.set(command, (exit) => {
        running.delete(command);
        exited.resolve(exit);
      });
      return {
        pid: ++pid,
        exited: exited.promise,
        kill: (signal) => {
          log.push(`${signal} ${command}`);
          const obeys = signal === 'SIGKILL' || options.deaf?.includes(command) !== true;
          if (obeys) running.get(command)?.({ code: null, signal });
        },
      };
    },
    checkHealth: async (target: HealthTarget) => {
      const name = 'socketPath' in target ? target.socketPath : '';
      return { healthy: running.has(name) && !unhealthy.has(name) };
    },
    lease: { intervalMs: 2000, write: async (counter, state) => void log.push(`lease ${counter} ${state}`) },
    endWorkloads: async () => {
      log.push('workloads ended');
      return 0;
    },
    history: { loaded: options.restarts ?? {}, save: (restarts) => (saved = restarts) },
  });
  const said = (...events: string[]) => log.filter((line) => events.some((event) => line.startsWith(event)));
  return { clock, log, running, unhealthy, watchdog, said, saved: () => saved };
}

test('the others start once the first is healthy, and all are ready when all answer', async () => {
  const world = createWorld();
  world.unhealthy.add('first');
  const watchdog = await world.watchdog;
  await world.clock.advance(1000);
  assert.deepEqual([...world.running.keys()], ['first']);
  world.unhealthy.delete('first');
  await world.clock.advance(100);
  assert.deepEqual([...world.running.keys()], ['first', 'second']);
  await watchdog.ready;
});

test('a first child that never answers does not keep the others waiting for ever', async () => {
  const world = createWorld();
  world.unhealthy.add('first');
  await world.watchdog;
  await world.clock.advance(defaultSettings.startTimeout + 1000);
  assert.deepEqual([...world.running.keys()], ['first', 'second']);
});

test('on the way down the others end before the sandboxes and the first child last', async () => {
  const world = createWorld();
  const watchdog = await world.watchdog;
  await world.clock.advance(100);
  watchdog.stop('test');
  assert.equal(await watchdog.ended, 0);
  const order = world.said('SIGTERM', 'lease 2', 'workloads');
  assert.deepEqual(order, ['SIGTERM second', 'lease 2 down', 'workloads ended', 'SIGTERM first']);
  assert.equal(world.clock.pending, 0, 'no timer is left');
});

test('a child that ignores SIGTERM is killed after the grace', async () => {
  const world = createWorld({ deaf: ['second'] });
  const watchdog = await world.watchdog;
  await world.clock.advance(100);
  watchdog.stop('test');
  await world.clock.advance(defaultSettings.killGrace - 1);
  assert.deepEqual(world.said('SIGKILL'), []);
  await world.clock.advance(1);
  assert.deepEqual(world.said('SIGKILL'), ['SIGKILL second']);
  await watchdog.ended;
});

test('three unanswered checks, the first after 10 s and then every 30 s, replace a child', async () => {
  const world = createWorld();
  await world.watchdog;
  await world.clock.advance(100);
  world.unhealthy.add('second');
  await world.clock.advance(10_000 + 2 * 30_000);
  assert.deepEqual(world.said('SIGTERM'), ['SIGTERM second']);
  world.unhealthy.delete('second');
  // The run was longer than a minute, so the restart is quick.
  await world.clock.advance(200);
  assert.ok(world.running.has('second'));
  assert.equal(world.said('health_check_failed').length, 3);
});

test('a tripped breaker ends everything with exit code 100, and the restarts are on record', async () => {
  const world = createWorld();
  const watchdog = await world.watchdog;
  await world.clock.advance(100);
  for (const delay of [1000, 2000, 4000, 8000, 16_000]) {
    world.running.get('second')?.({ code: 1, signal: null });
    await world.clock.advance(delay);
    assert.ok(world.running.has('second'), `restarted after ${delay} ms`);
  }
  assert.equal(world.saved()['second']?.length, 5);
  world.running.get('second')?.({ code: 1, signal: null });
  await settle();
  assert.equal(await watchdog.ended, 100);
  assert.equal(world.running.size, 0);
});

test('a start that fails for good rejects with the child and the reason', async () => {
  const world = createWorld();
  world.unhealthy.add('first');
  const watchdog = await world.watchdog;
  await settle();
  world.running.get('first')?.({ code: 2, signal: null });
  await assert.rejects(watchdog.ready, /first refused its configuration/);
  assert.equal(await watchdog.ended, 2);
});

test('the lease is renewed every two seconds, each time with another counter', async () => {
  const world = createWorld();
  await world.watchdog;
  await world.clock.advance(6000);
  assert.deepEqual(world.said('lease'), ['lease 1 up', 'lease 2 up', 'lease 3 up', 'lease 4 up']);
});

test('ten frozen minutes restart nothing and renew the lease at once', async () => {
  const world = createWorld();
  await world.watchdog;
  await world.clock.advance(100);
  world.clock.freeze(600_000);
  await world.clock.advance(2000);
  assert.deepEqual(world.said('SIGTERM', 'SIGKILL', 'scheduling_restart'), []);
  assert.ok(world.said('lease').length >= 2);
});
