import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import type { Driver } from '#drivers/driver.ts';
import { probeLimits } from '#drivers/host/limits.ts';
import { installKey, placesOfDriver, runPlaces, workloadKey } from '#drivers/host/places.ts';
import { readRecord } from '#drivers/host/record.ts';
import type { Observed, Workload } from '#drivers/workload.ts';
import { systemRandom } from '#kit/random.ts';
import {
  bwrapAvailability,
  bwrapDriver,
  call,
  createDriverHost,
  type DriverHost,
  type DriverOverrides,
  ensureUntil,
  processDriver,
  removeFully,
  runInside,
  shimMain,
  workloadOf,
} from '#test/fixtures/driver-host.ts';
import { leftovers } from './real.ts';
import { onlyInstance } from './suite.ts';

const availability = await bwrapAvailability();
const skip = availability.ok ? false : availability.reason;
const isRunning = (seen: Observed) => seen.phase === 'Running';
const isFailed = (seen: Observed) => seen.phase === 'Failed';

const kinds = {
  bwrap: { create: bwrapDriver, skip },
  process: { create: processDriver, skip: false as const },
};

for (const [kind, { create, skip }] of Object.entries(kinds)) {
  describe(`the life of a ${kind} workload`, { skip, timeout: 180_000 }, () => {
    let host: DriverHost;
    let driver: Driver;
    const open = (overrides: DriverOverrides = {}) => {
      driver = create(host, overrides);
      return driver;
    };
    beforeEach(() => {
      host = createDriverHost();
    });
    afterEach(async () => {
      for (const id of await driver.list()) await removeFully(driver, workloadOf({ id }));
      await driver.close();
      const left = leftovers(host);
      host.remove();
      assert.deepEqual(left, []);
    });
    const recordOf = ({ id }: Workload) => {
      const places = placesOfDriver(host.places, kind);
      const record = readRecord(runPlaces(places, workloadKey(id)).record);
      assert.ok(record !== undefined);
      return record;
    };

    it('ends the sandbox with its shim when that is killed, and says so', async () => {
      const workload = workloadOf();
      open();
      const { pid } = onlyInstance(await ensureUntil(driver, workload, isRunning));
      process.kill(recordOf(workload).shim.pid, 'SIGKILL');
      const seen = await ensureUntil(driver, workload, isFailed, { start: false });
      assert.deepEqual(onlyInstance(seen).exit?.signal, 'SIGKILL');
      assert.match(seen.message, /shim was killed/);
      await until(() => !isThere(pid));
      await removeFully(driver, workload);
    });

    it('ends the sandbox gracefully when the shim is told to end (SIGTERM)', async () => {
      const workload = workloadOf();
      open();
      const { pid } = onlyInstance(await ensureUntil(driver, workload, isRunning));
      process.kill(recordOf(workload).shim.pid, 'SIGTERM');
      const seen = await ensureUntil(driver, workload, isFailed, { start: false });
      assert.match(seen.message, /SIGTERM/);
      await until(() => !isThere(pid));
      await removeFully(driver, workload);
    });

    it('reports what ended while no controller was there', async () => {
      const workload = workloadOf();
      open();
      const { address } = onlyInstance(await ensureUntil(driver, workload, isRunning));
      const shim = recordOf(workload).shim.pid;
      await driver.close();
      await call(address, '/crash').catch(() => undefined);
      await until(() => !isThere(shim));
      open();
      const seen = await driver.ensure(workload, { start: true });
      assert.equal(seen.phase, 'Failed');
      assert.equal(onlyInstance(seen).exit?.code, 7);
    });

    it('removes a workload whose shim is stopped (SIGSTOP)', async () => {
      const workload = workloadOf();
      open({ graceMs: 100 });
      const { pid } = onlyInstance(await ensureUntil(driver, workload, isRunning));
      process.kill(recordOf(workload).shim.pid, 'SIGSTOP');
      await removeFully(driver, workload);
      assert.equal(isThere(pid), false);
    });

    it('does not keep others waiting for a shim that is stopped when a controller starts', async () => {
      const [stuck, workload] = [workloadOf(), workloadOf()];
      open({ graceMs: 100 });
      await ensureUntil(driver, stuck, isRunning);
      await driver.close();
      const { pid } = recordOf(stuck).shim;
      process.kill(pid, 'SIGSTOP');
      open({ graceMs: 100 });
      await ensureUntil(driver, workload, isRunning);
      process.kill(pid, 'SIGCONT');
      await ensureUntil(driver, stuck, isRunning);
    });

    it('kills what does not heed SIGTERM when its grace is over', async () => {
      const workload = workloadOf();
      open({ graceMs: 300 });
      const { address, pid } = onlyInstance(await ensureUntil(driver, workload, isRunning));
      await call(address, '/ignore-term');
      const begin = performance.now();
      await removeFully(driver, workload);
      assert.ok(performance.now() - begin >= 290, 'it was killed before its grace was over');
      assert.equal(isThere(pid), false);
    });

    it('leaves no process behind, not even one that made a session of its own', async () => {
      const workload = workloadOf();
      open();
      const { address } = onlyInstance(await ensureUntil(driver, workload, isRunning));
      const marker = `77${process.pid}`;
      await runInside(address, '/bin/sh', '-c', `setsid sleep ${marker} >/dev/null 2>&1 & sleep 0.1`);
      assert.equal(processesWith(`sleep\0${marker}`).length, 1);
      await removeFully(driver, workload);
      await until(() => processesWith(`sleep\0${marker}`).length === 0);
    });

    it('leaves nothing of a start that is undone at any moment', async () => {
      let serial = 0;
      const mark = `undone-${process.pid}`;
      const uuid = () => {
        serial += 1;
        return `${serial.toString().padStart(8, '0')}-${mark}`;
      };
      open({ random: { ...systemRandom, uuid }, graceMs: 0 });
      for (let round = 0; round < 15; round += 1) {
        const workload = workloadOf();
        await driver.ensure(workload, { start: true });
        if (round > 4) await ensureUntil(driver, workload, (seen) => seen.instances.length > 0);
        await new Promise((resolve) => setTimeout(resolve, round > 4 ? (round - 4) / 2 : round * 25));
        await removeFully(driver, workload);
      }
      await until(() => processesWith(mark, 'environ').length === 0);
    });

    it('ends with the workspace: at once when the lease says down, late when it goes stale', async () => {
      const ownLease = join(host.folder, 'lease');
      const lease = { path: ownLease, tickMs: 50, staleTicks: 10 };
      writeFileSync(ownLease, '{"counter":1,"state":"up"}\n');
      let counter = 1;
      const beat = setInterval(() => {
        counter += 1;
        writeFileSync(ownLease, `{"counter":${counter},"state":"up"}\n`);
      }, 40);
      const [first, second] = [workloadOf(), workloadOf()];
      open({ lease });
      try {
        await ensureUntil(driver, first, isRunning);
        await new Promise((resolve) => setTimeout(resolve, 1_000));
        assert.equal((await driver.ensure(first, { start: false })).phase, 'Running');
      } finally {
        clearInterval(beat);
      }
      const stale = await ensureUntil(driver, first, isFailed, { start: false });
      assert.match(stale.message, /lease/);
      const keep = setInterval(() => writeFileSync(ownLease, `{"c":${Math.random()},"state":"up"}\n`), 40);
      await ensureUntil(driver, second, isRunning);
      clearInterval(keep);
      writeFileSync(ownLease, '{"counter":99,"state":"down"}\n');
      const down = await ensureUntil(driver, second, isFailed, { start: false });
      assert.match(down.message, /down/);
    });

    it('keeps the workspace folder when told to, and what was in it', async () => {
      const workload = workloadOf();
      open();
      const { address } = onlyInstance(await ensureUntil(driver, workload, isRunning));
      const ran = await runInside(address, '/bin/sh', '-c', 'echo kept > "$WORKSPACE_PATH/note"');
      assert.equal(ran.code, 0, ran.stderr);
      await removeFully(driver, workload, true);
      const folder = host.places.workspace(workload.id);
      assert.equal(readFileSync(join(folder, 'note'), 'utf8'), 'kept\n');
      const again = onlyInstance(await ensureUntil(driver, workload, isRunning));
      assert.equal(
        (await runInside(again.address, '/bin/sh', '-c', 'cat "$WORKSPACE_PATH/note"')).stdout,
        'kept\n',
      );
      await removeFully(driver, workload, false);
      assert.equal(existsSync(folder), false);
    });

    it('leaves the workspace folder to an Agent of the same name that was created again', async () => {
      const workload = workloadOf();
      const successor = workloadOf({ id: { ...workload.id, uid: `${workload.id.uid}-again` } });
      open();
      await ensureUntil(driver, workload, isRunning);
      const { address } = onlyInstance(await ensureUntil(driver, successor, isRunning));
      await removeFully(driver, workload, false);
      const ran = await runInside(address, '/bin/sh', '-c', 'echo mine > "$WORKSPACE_PATH/note"');
      assert.equal(ran.code, 0, ran.stderr);
      await removeFully(driver, successor, false);
      assert.equal(existsSync(host.places.workspace(successor.id)), false);
    });

    it('puts no secret on a command line, in a log or into a file', async () => {
      const workload = workloadOf();
      open();
      const { address } = onlyInstance(await ensureUntil(driver, workload, isRunning));
      const config = await call<{ keys: { secret: string }[] }>(address, '/config');
      const secrets = [config.keys[0]?.secret ?? '', workload.egressToken];
      assert.ok(secrets.every((secret) => secret.length > 10));
      for (const secret of secrets) {
        assert.deepEqual(processesWith(secret), []);
        const found = execFileSync('sh', [
          '-c',
          `grep -rlF "$0" "$1" "$2" || true`,
          secret,
          host.folder,
          host.places.workloads,
        ]);
        assert.equal(String(found), '');
      }
      assert.equal(processesWith('--config-fd').length >= 1, true, 'the control: the command line is seen');
    });

    it('does not hand descriptors of the controller on to the agent', async () => {
      const leaky = join(host.folder, 'leaky-node');
      writeFileSync(leaky, `#!/bin/bash\nexec 200</etc/hostname\nexec "${process.execPath}" "$@"\n`);
      chmodSync(leaky, 0o755);
      const workload = workloadOf();
      open({ shim: { node: leaky, main: shimMain } });
      const { address } = onlyInstance(await ensureUntil(driver, workload, isRunning));
      const inherited = await call<number[]>(address, '/inherited');
      assert.deepEqual(inherited, []);
      const control = execFileSync(leaky, ['-p', 'require("fs").readlinkSync("/proc/self/fd/200")']);
      assert.equal(String(control).trim(), '/etc/hostname');
    });

    it('installs once for everybody with the same step, then starts', async () => {
      const script =
        'mkdir -p node_modules/thing; date +%s%N > node_modules/thing/made; echo installed here >&2';
      const install = {
        command: ['/bin/sh', '-c', script],
        env: {},
        egress: [],
        egressToken: 'install-token-canary',
        timeoutSeconds: 30,
        digest: `digest-${kind}`,
      };
      const [first, second] = [workloadOf({ install }), workloadOf({ install })];
      open();
      assert.equal((await driver.ensure(first, { start: true })).phase, 'Installing');
      await Promise.all([ensureUntil(driver, first, isRunning), ensureUntil(driver, second, isRunning)]);
      const made = await Promise.all(
        [first, second].map(async (workload) => {
          const { address } = onlyInstance(await driver.ensure(workload, { start: true }));
          const path = kind === 'bwrap' ? '/node_modules/thing/made' : '"${PATH%%/.bin:*}/thing/made"';
          return (await runInside(address, '/bin/sh', '-c', `cat ${path}`)).stdout;
        }),
      );
      assert.notEqual(made[0], '');
      assert.equal(made[0], made[1]);
      if (kind !== 'bwrap') return;
      const { address } = onlyInstance(await driver.ensure(first, { start: true }));
      assert.notEqual((await runInside(address, '/bin/sh', '-c', 'echo x > /deps/y')).code, 0);
    });

    it('says why an install failed, and tries again only when asked after that', async () => {
      const install = {
        command: ['/bin/sh', '-c', 'echo the reason is here >&2; exit 3'],
        env: {},
        egress: [],
        egressToken: 'x',
        timeoutSeconds: 30,
        digest: `broken-${kind}`,
      };
      const workload = workloadOf({ install });
      open();
      const seen = await ensureUntil(driver, workload, isFailed);
      assert.equal(seen.reason, 'InstallFailed');
      assert.match(seen.message, /exit code 3/);
      assert.match(seen.message, /the reason is here/);
      assert.match(readFileSync(host.places.log(workload.id), 'utf8'), /the reason is here/);
      assert.ok(onlyInstance(seen).exit !== undefined);
      assert.equal((await driver.ensure(workload, { start: false })).phase, 'Failed');
      assert.equal((await driver.ensure(workload, { start: true })).phase, 'Installing');
      await removeFully(driver, workload);
    });

    it('ends an install that takes too long', async () => {
      const install = {
        command: ['/bin/sleep', '60'],
        env: {},
        egress: [],
        egressToken: 'x',
        timeoutSeconds: 1,
        digest: `slow-${kind}`,
      };
      const workload = workloadOf({ install });
      open({ graceMs: 200 });
      const seen = await ensureUntil(driver, workload, isFailed);
      assert.match(seen.message, /longer than its time limit/);
      await removeFully(driver, workload);
    });

    it('ends an install nobody waits for any more', async () => {
      const marker = `${kind === 'bwrap' ? 88 : 89}${process.pid}`;
      const install = {
        command: ['/bin/sleep', marker],
        env: {},
        egress: [],
        egressToken: 'x',
        timeoutSeconds: 60,
        digest: `left-${kind}`,
      };
      const workload = workloadOf({ install });
      open();
      await driver.ensure(workload, { start: true });
      await until(() => processesWith(`sleep\0${marker}`).length > 0);
      await removeFully(driver, workload);
      await until(() => processesWith(`sleep\0${marker}`).length === 0);
      await until(() =>
        readdirSync(join(host.places.deps, kind)).every((name) => !name.endsWith('.partial')),
      );
      await until(() => leftovers(host).length === 0);
    });

    it('goes on with an install that an earlier controller started', async () => {
      const command = ['/bin/sh', '-c', 'sleep 1; mkdir node_modules; date +%s%N > node_modules/made'];
      const digest = `adopted-${kind}`;
      const install = { command, env: {}, egress: [], egressToken: 'x', timeoutSeconds: 60, digest };
      const workload = workloadOf({ install });
      open();
      await driver.ensure(workload, { start: true });
      const at = runPlaces(placesOfDriver(host.places, kind), installKey(digest));
      await until(() => readRecord(at.record)?.sandbox !== undefined);
      await driver.close();
      open();
      const begin = performance.now();
      await ensureUntil(driver, workload, isRunning);
      assert.ok(performance.now() - begin < 10_000);
      const deps = join(host.places.deps, kind);
      assert.equal(readdirSync(deps).filter((name) => !name.includes('.')).length, 1);
      // The running workload has two folders; the install has none any more.
      await until(() => leftovers(host).length === 2);
    });

    it('keeps its log within bounds', async () => {
      const workload = workloadOf();
      open({ logMaxBytes: 20_000, logKeep: 2 });
      const { address } = onlyInstance(await ensureUntil(driver, workload, isRunning));
      await call(address, '/flood', '200');
      const log = host.places.log(workload.id);
      await until(() => existsSync(`${log}.2`));
      assert.equal(existsSync(`${log}.3`), false);
      await removeFully(driver, workload);
      assert.equal(existsSync(log) || existsSync(`${log}.1`), false);
    });
  });
}

describe('a bwrap workload', { skip, timeout: 120_000 }, () => {
  let host: DriverHost;
  let driver: Driver;
  afterEach(async () => {
    for (const id of await driver.list()) await removeFully(driver, workloadOf({ id }));
    await driver.close();
    host.remove();
  });

  it('runs from a workspace whose path has 200 characters and spaces', async () => {
    host = createDriverHost();
    const long = join(host.folder, 'a folder with spaces '.repeat(9).trim());
    mkdirSync(long, { recursive: true });
    chmodSync(host.folder, 0o755);
    writeFileSync(join(long, 'file "with" quotes'), 'found');
    assert.ok(long.length > 200, String(long.length));
    const places = {
      ...host.places,
      root: long,
      state: join(long, '.ploinky'),
      files: join(long, '.ploinky', 'running'),
      deps: join(long, '.ploinky', 'deps'),
      shared: join(long, '.ploinky', 'shared'),
      workspace: () => join(long, '.ploinky', 'agents', 'a'),
      log: () => join(long, '.ploinky', 'logs', 'a.log'),
    };
    mkdirSync(places.state, { mode: 0o700 });
    driver = bwrapDriver({ ...host, folder: long, places });
    const workload = workloadOf({ code: { type: 'path', path: long, writable: false } });
    const { address } = onlyInstance(await ensureUntil(driver, workload, isRunning));
    const seen = await runInside(
      address,
      '/bin/sh',
      '-c',
      'cat "/code/file \\"with\\" quotes"; ls -A /code/.ploinky',
    );
    assert.deepEqual([seen.stdout, seen.stderr], ['found', '']);
    await removeFully(driver, workload);
  });

  it('reaches the router’s socket also after that was replaced', async () => {
    host = createDriverHost();
    driver = bwrapDriver(host);
    const answer = (text: string) => createServer((socket) => socket.end(text));
    const listen = (server: ReturnType<typeof answer>) =>
      new Promise<void>((resolve) => server.listen(host.sockets.router, resolve));
    const before = answer('first router');
    await listen(before);
    before.unref();
    const workload = workloadOf();
    const { address } = onlyInstance(await ensureUntil(driver, workload, isRunning));
    const ask = async () => {
      const script =
        'require("net").connect(8080,"127.0.0.1").on("data",d=>process.stdout.write(d)).on("error",e=>console.log(e.code))';
      return (await runInside(address, '/Agent/bin/node', '-e', script)).stdout.trim();
    };
    assert.equal(await ask(), 'first router');
    await new Promise((resolve) => before.close(resolve));
    const next = answer('second router');
    await listen(next);
    next.unref();
    assert.equal(await ask(), 'second router');
    next.close();
    await removeFully(driver, workload);
  });

  it('refuses code outside the workspace, in its private part, and names that leave /code', async () => {
    host = createDriverHost();
    driver = bwrapDriver(host);
    const path = (folder: string): Workload['code'] => ({ type: 'path', path: folder, writable: false });
    const cases: [Workload['code'], RegExp][] = [
      [path('/etc'), /outside the workspace/],
      [path(join(host.folder, 'missing')), /no such file/],
      [path(host.places.state), /private part/],
      [{ type: 'inline', files: { '../../escape': 'x' } }, /not a relative file name/],
      [{ type: 'inline', files: { '/etc/x': 'x' } }, /not a relative file name/],
    ];
    for (const [code, expected] of cases) {
      const workload = workloadOf({ code });
      const seen = await ensureUntil(driver, workload, isFailed);
      assert.equal(seen.reason, 'CodeUnavailable');
      assert.match(seen.message, expected);
      await removeFully(driver, workload);
    }
  });
});

describe('limits of a bwrap workload', { skip, timeout: 120_000 }, () => {
  let limits: Awaited<ReturnType<typeof probeLimits>>;
  let host: DriverHost;
  let driver: Driver;
  before(async () => {
    limits = await probeLimits({
      group: `ploinky-test-${process.pid}`,
      isRoot: process.getuid?.() === 0,
      trySystemd: async () => undefined,
    });
    host = createDriverHost();
    driver = bwrapDriver(host, { limits });
  });
  after(async () => {
    for (const id of await driver.list()) await removeFully(driver, workloadOf({ id }));
    await driver.close();
    host.remove();
    const bases = limits.type === 'v1' ? Object.values(limits.bases) : [];
    assert.deepEqual(bases.filter(existsSync), [], 'groups of memory and pids are left');
    if (limits.type === 'v2') execFileSync('rmdir', [limits.base]);
  });

  it('hold processes and memory, and are gone with the workload', async (context) => {
    if (limits.type === 'none') {
      context.skip(limits.message);
      return;
    }
    const workload = workloadOf({
      runtime: {
        class: 'Bwrap',
        replicas: 1,
        limits: { pids: 40, memoryBytes: 192 * 1024 * 1024, cpu: 1 },
        resources: {},
      },
    });
    const seen = await ensureUntil(driver, workload, isRunning);
    assert.equal(seen.limitsEnforced, true, seen.limitsMessage);
    const { address } = onlyInstance(seen);
    const bomb = 'i=0; while [ $i -lt 100 ]; do sleep 5 & i=$((i+1)); done; echo all';
    const forks = await runInside(address, '/bin/sh', '-c', bomb);
    assert.doesNotMatch(forks.stdout, /all/);
    assert.match(forks.stderr, /fork/i);
    const hog = 'const held=[];for(;;)held.push(Buffer.alloc(16<<20,1))';
    const memory = await runInside(address, '/Agent/bin/node', '-e', hog).catch(() => undefined);
    assert.notEqual(memory?.code, 0);
    await removeFully(driver, workload);
  });

  it('are said not to be enforced where nothing enforces them', async () => {
    const other = createDriverHost();
    const unlimited = bwrapDriver(other, { limits: { type: 'none', message: 'no control groups here' } });
    const workload = workloadOf();
    const seen = await ensureUntil(unlimited, workload, isRunning);
    assert.equal(seen.limitsEnforced, false);
    assert.equal(seen.limitsMessage, 'no control groups here');
    await removeFully(unlimited, workload);
    await unlimited.close();
    other.remove();
  });
});

function isThere(pid: number | undefined): boolean {
  return pid !== undefined && existsSync(`/proc/${pid}`) && !/^State:\s+Z/m.test(readStatus(pid));
}

function readStatus(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/status`, 'utf8');
  } catch {
    return 'State: Z';
  }
}

/** Processes of this machine whose command line (or environment) holds `text`, this one not counted. */
function processesWith(text: string, file: 'cmdline' | 'environ' = 'cmdline'): string[] {
  return readdirSync('/proc').filter((name) => {
    if (!/^\d+$/.test(name) || Number(name) === process.pid) return false;
    try {
      return readFileSync(`/proc/${name}/${file}`, 'utf8').includes(text);
    } catch {
      return false;
    }
  });
}

async function until(isDone: () => boolean): Promise<void> {
  for (let attempt = 0; attempt < 500 && !isDone(); attempt += 1)
    await new Promise((resolve) => setTimeout(resolve, 20));
  assert.ok(isDone(), 'not reached in time');
}
