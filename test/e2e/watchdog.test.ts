import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { get, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { afterEach, beforeEach, test } from 'node:test';
import { systemClock } from '#kit/clock.ts';
import { codeOf } from '#kit/errors.ts';
import { isObject } from '#kit/json.ts';
import { identifyProcess, isRunning } from '#kit/process.ts';
import { hostFacts, locateWorkspace } from '#workspace/host.ts';
import { findHolder } from '#workspace/lock.ts';
import type { WorkspacePaths } from '#workspace/paths.ts';
import { startWorkspace } from '#workspace/start.ts';
import { stopWorkspace } from '#workspace/stop.ts';

// The real watchdog over processes that do nothing but live: what it does must not depend on what they do.
const root = join(import.meta.dirname, '../..');
const quick = {
  PLOINKY_WATCHDOG_BACKOFF_MS: '50',
  PLOINKY_WATCHDOG_MAX_RESTARTS: '50',
  PLOINKY_WATCHDOG_WORKLOAD_GRACE_MS: '1000',
};
/** Only where it is the question: on a busy machine a healthy process may be slow. */
const quickChecks = {
  PLOINKY_WATCHDOG_HEALTH_FIRST_MS: '200',
  PLOINKY_WATCHDOG_HEALTH_INTERVAL_MS: '200',
  PLOINKY_WATCHDOG_HEALTH_TIMEOUT_MS: '1000',
};

let folder = '';
let paths: WorkspacePaths;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'wd-'));
  paths = await locateWorkspace(folder, process.env);
});
afterEach(async () => {
  await stop();
  await rm(folder, { recursive: true });
});

function start(env: Record<string, string> = {}) {
  return startWorkspace({
    paths,
    uid: hostFacts(process.env).uid,
    node: process.execPath,
    watchdogMain: join(root, 'src/main/watchdog.ts'),
    watchdogFlags: ['--main-folder', join(root, 'test/fixtures/fake-processes')],
    env: { ...process.env, ...quick, ...env },
    from: 18_080,
  });
}

function stop() {
  return stopWorkspace({ paths, clock: systemClock, timeoutMs: 20_000 });
}

/** Asks over a connection of its own: one that is kept alive dies with its router. */
async function routerPid(url: string): Promise<number> {
  const [response] = (await once(get(url, { agent: false }), 'response')) as [IncomingMessage];
  const answer: unknown = await json(response);
  assert.ok(isObject(answer) && typeof answer['pid'] === 'number');
  return answer['pid'];
}

interface Line {
  event: string;
  server?: string;
  pid?: number;
  delayMs?: number;
}
function journal(): Line[] {
  const text = readFileSync(join(paths.logs, 'watchdog.log'), 'utf8');
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);
}

async function until(what: string, holds: () => boolean | Promise<boolean>, ms = 15_000): Promise<void> {
  const deadline = Date.now() + ms;
  while (!(await holds())) {
    assert.ok(Date.now() < deadline, `waited in vain until ${what}`);
    await systemClock.sleep(20);
  }
}

function childPids(): number[] {
  return journal().flatMap(({ event, pid }) =>
    event === 'server_spawned' && pid !== undefined ? [pid] : [],
  );
}

/** Tries to connect `count` times, `everyMs` apart, and returns how many were refused. */
async function countRefused(port: number, count: number, everyMs: number): Promise<number> {
  let refused = 0;
  const tries = Array.from({ length: count }, async (_, index) => {
    await systemClock.sleep(index * everyMs);
    await new Promise<void>((resolve) => {
      const socket = connect(port, '127.0.0.1');
      socket.once('connect', () => socket.destroy());
      socket.once('error', () => refused++);
      socket.once('close', () => resolve());
    });
  });
  await Promise.all(tries);
  return refused;
}

test('up answers on its port, a second up is refused with pid and URL, down leaves nothing', {
  timeout: 60_000,
}, async () => {
  const started = await start();
  await started.ready;
  assert.ok((await routerPid(started.url)) > 0);
  await assert.rejects(start(), (error: Error) => {
    assert.equal(codeOf(error), 'AlreadyRunning');
    assert.match(error.message, new RegExp(`pid ${started.pid}, ${started.url}`));
    return true;
  });
  assert.equal((await readFile(join(paths.running, 'router.pid'), 'utf8')).trim(), String(started.pid));
  const pids = [started.pid, ...childPids()];
  assert.equal(pids.length, 5);
  assert.equal(await stop(), 'stopped');
  assert.deepEqual(
    pids.filter((pid) => identifyProcess(pid) !== undefined),
    [],
  );
  assert.equal(existsSync(paths.runtime), false);
  assert.equal(existsSync(join(paths.running, 'router.pid')), false);
  assert.equal(await stop(), 'nothing');
  assert.ok(journal().some(({ event }) => event === 'shutdown_complete'));
});

test('a router killed again and again refuses no connection', { timeout: 60_000 }, async () => {
  const started = await start();
  await started.ready;
  const clients = countRefused(started.port, 200, 20);
  for (let kill = 0; kill < 3; kill++) {
    const pid = await routerPid(started.url);
    process.kill(pid, 'SIGKILL');
    await until(
      'another router answers',
      async () => (await routerPid(started.url).catch(() => pid)) !== pid,
    );
  }
  assert.equal(await clients, 0);
  const delays = journal().flatMap(({ delayMs }) => (delayMs === undefined ? [] : [delayMs]));
  assert.deepEqual(
    delays.map((ms) => Math.round(ms / 50)),
    [1, 2, 4],
    JSON.stringify(delays),
  );
});

test('no process but the router holds the listening socket', { timeout: 60_000 }, async () => {
  await (await start()).ready;
  const log = join(paths.logs, 'controller.log');
  await until('the controller has spoken', () => existsSync(log) && readFileSync(log, 'utf8').includes('\n'));
  const held = /descriptors (.*)/.exec(readFileSync(log, 'utf8'))?.[1] ?? '';
  const sockets = (JSON.parse(held) as string[]).filter((fd) => fd.includes('socket:'));
  assert.deepEqual(sockets, []);
});

test('a router that no longer answers is replaced', { timeout: 60_000 }, async () => {
  const started = await start(quickChecks);
  await started.ready;
  const pid = await routerPid(started.url);
  await assert.rejects(fetch(`${started.url}/hang`, { signal: AbortSignal.timeout(200) }));
  await until('a new router answers', async () => {
    return childPids().length >= 5 && (await routerPid(started.url).catch(() => pid)) !== pid;
  });
  assert.ok(journal().some(({ event }) => event === 'health_check_restart'));
});

test('when the watchdog is killed its children end, and a new up takes over', {
  timeout: 60_000,
}, async () => {
  const first = await start();
  await first.ready;
  const children = childPids();
  process.kill(first.pid, 'SIGKILL');
  await until('the children ended', () => children.every((pid) => identifyProcess(pid) === undefined));
  assert.equal(await findHolder(paths.running), undefined);
  const second = await start();
  await second.ready;
  assert.notEqual(second.pid, first.pid);
});

test('down after the watchdog was killed removes what it left', { timeout: 60_000 }, async () => {
  const started = await start();
  await started.ready;
  process.kill(started.pid, 'SIGKILL');
  await until('nobody holds the workspace', async () => (await findHolder(paths.running)) === undefined);
  assert.equal(existsSync(paths.runtime), true);
  assert.equal(await stop(), 'tidied');
  assert.equal(existsSync(paths.runtime), false);
});

test('a process that needs too many restarts ends the workspace, and the history outlives it', {
  timeout: 60_000,
}, async () => {
  const started = await start({ PLOINKY_WATCHDOG_MAX_RESTARTS: '1' });
  await started.ready;
  const pid = await routerPid(started.url);
  process.kill(pid, 'SIGKILL');
  await until('another router answers', async () => (await routerPid(started.url)) !== pid);
  process.kill(await routerPid(started.url), 'SIGKILL');
  await until('the workspace ended', async () => (await findHolder(paths.running)) === undefined);
  assert.ok(journal().some(({ event }) => event === 'circuit_breaker_tripped'));
  assert.match(
    await readFile(join(paths.logs, 'watchdog.log'), 'utf8'),
    /"watchdog_exiting".*"exitCode":100/,
  );
  const again = await start({ PLOINKY_WATCHDOG_MAX_RESTARTS: '1' });
  await again.ready;
  process.kill(await routerPid(again.url), 'SIGKILL');
  await until('it tripped at once', async () => (await findHolder(paths.running)) === undefined);
});

test('down kills a shim that ignores the lease, by the identity it recorded and no other process', {
  timeout: 60_000,
}, async () => {
  const { spawn } = await import('node:child_process');
  await (await start()).ready;
  const deaf = spawn('sleep', ['1000'], { detached: true, stdio: 'ignore' });
  const other = spawn('sleep', ['1000'], { detached: true, stdio: 'ignore' });
  try {
    const identity = identifyProcess(deaf.pid ?? 0);
    const stranger = identifyProcess(other.pid ?? 0);
    assert.ok(identity && stranger);
    await writeFile(join(paths.workloads, 'a.json'), JSON.stringify({ shim: identity }));
    const reused = { ...stranger, startTime: '1' };
    await writeFile(join(paths.workloads, 'b.json'), JSON.stringify(reused));
    await stop();
    assert.equal(isRunning(identity), false);
    assert.equal(isRunning(stranger), true);
  } finally {
    other.kill('SIGKILL');
    deaf.kill('SIGKILL');
  }
});
