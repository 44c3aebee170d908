import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { identifyProcess } from '#kit/process.ts';
import {
  descendants,
  findFamily,
  findTraces,
  readRecords,
  survivors,
} from '#test/fixtures/workspace/traces.ts';
import { createWorkspace, type TestWorkspace } from '#test/fixtures/workspace/workspace.ts';

// Every process of a workspace is killed by SIGKILL while calls run. What was running may fail; what comes next
// must work again, and nothing may be left over.

describe('kill -9', { timeout: 600_000 }, () => {
  let workspace: TestWorkspace;
  let url = '';
  before(async () => {
    workspace = await createWorkspace({ examples: ['hello', 'own-server'] });
    url = await workspace.up();
  });
  after(() => workspace.remove());

  /** The pid of the newest process of that name that the watchdog started. */
  function pidOf(server: string): number {
    const lines = readFileSync(join(workspace.paths.logs, 'watchdog.log'), 'utf8').trimEnd().split('\n');
    const events = lines.map((line) => JSON.parse(line) as { event: string; server?: string; pid?: number });
    const spawned = events.filter((event) => event.event === 'server_spawned' && event.server === server);
    return spawned.at(-1)?.pid ?? 0;
  }

  /** One that found no API when it started may be between two runs. */
  async function livePidOf(server: string): Promise<number> {
    await until(`the ${server} runs`, () => identifyProcess(pidOf(server)) !== undefined);
    return pidOf(server);
  }

  function untilReplaced(server: string, old: number): Promise<void> {
    return until(`another ${server} runs`, () => {
      const now = pidOf(server);
      return now !== old && identifyProcess(now) !== undefined;
    });
  }

  interface Sandbox {
    name: string;
    shim: number;
    sandbox: number;
  }
  function sandboxes(): Sandbox[] {
    return readRecords(workspace.paths).map(({ workload, shim, sandbox }) => {
      return { name: workload.name, shim: shim.pid, sandbox: sandbox?.pid ?? 0 };
    });
  }
  function sandboxOf(name: string): Sandbox {
    const found = sandboxes().find((record) => record.name === name);
    assert.ok(found, `no record of ${name}`);
    return found;
  }

  async function callGreet(): Promise<boolean> {
    const outcome = await workspace.ploinky('call', 'greet', '-a', 'hello', '-p', 'name=Ana');
    return outcome.code === 0 && outcome.stdout.includes('Hello, Ana!');
  }

  /** Milliseconds until a call works again; throws after a minute. */
  async function recovery(): Promise<number> {
    const begun = performance.now();
    while (!(await callGreet())) {
      assert.ok(performance.now() - begun < 60_000, 'no call works a minute after the kill');
    }
    return performance.now() - begun;
  }

  for (const server of ['router', 'controller', 'apiserver', 'egress']) {
    it(`of the ${server}: calls work again and the sandboxes keep running`, async (t) => {
      const before = sandboxes();
      const pid = await livePidOf(server);
      process.kill(pid, 'SIGKILL');
      t.diagnostic(`calls worked again after ${(await recovery()).toFixed(0)} ms`);
      await untilReplaced(server, pid);
      assert.deepEqual(sandboxes(), before);
    });
  }

  it('of the controller: a new agent is still made, by the next one', async () => {
    const pid = await livePidOf('controller');
    const before = sandboxOf('own-server').sandbox;
    process.kill(pid, 'SIGKILL');
    await workspace.must('restart', 'own-server');
    await untilReplaced('controller', pid);
    await until('own-server has another sandbox', () => {
      const now = sandboxes().find((record) => record.name === 'own-server');
      return now !== undefined && now.sandbox !== 0 && now.sandbox !== before;
    });
  });

  for (const victim of ['shim', 'sandbox'] as const) {
    it(`of an agent's ${victim}: the agent is started again, and nothing of the old one stays`, async (t) => {
      await until('hello has a sandbox', () => sandboxOf('hello').sandbox !== 0);
      const old = sandboxOf('hello');
      const family = descendants(old.shim).map(({ pid }) => identifyProcess(pid));
      process.kill(old[victim], 'SIGKILL');
      await until('the old processes are gone', () =>
        family.every((one) => one === undefined || identifyProcess(one.pid)?.startTime !== one.startTime),
      );
      t.diagnostic(`calls worked again after ${(await recovery()).toFixed(0)} ms`);
      assert.notEqual(sandboxOf('hello').shim, old.shim);
    });
  }

  it('of the agent-server in its sandbox: the agent is started again', async (t) => {
    const old = sandboxOf('hello');
    const server = descendants(old.shim).find(({ about }) => about.includes('/Agent/agent-server.mjs'));
    assert.ok(server, 'the agent-server is not below its shim');
    process.kill(server.pid, 'SIGKILL');
    t.diagnostic(`calls worked again after ${(await recovery()).toFixed(0)} ms`);
  });

  it('of the router, again and again: no connection is refused', async () => {
    let refused = 0;
    let answered = 0;
    let stop = false;
    const load = (async () => {
      while (!stop) {
        const outcome = await health(url);
        if (outcome === 'refused') refused++;
        if (outcome === 'answered') answered++;
      }
    })();
    for (let kill = 0; kill < 2; kill++) {
      const pid = await livePidOf('router');
      process.kill(pid, 'SIGKILL');
      await untilReplaced('router', pid);
      await recovery();
    }
    stop = true;
    await load;
    assert.equal(refused, 0);
    assert.ok(answered > 0);
  });

  it('is one thing; SIGSTOP of everything for longer than the lease lives is another: nothing is restarted', async (t) => {
    const family = findFamily(workspace.paths);
    const spawned = () =>
      readFileSync(join(workspace.paths.logs, 'watchdog.log'), 'utf8').split('server_spawned').length;
    const before = { sandboxes: sandboxes(), spawned: spawned() };
    for (const { pid } of family) process.kill(pid, 'SIGSTOP');
    await new Promise((resolve) => setTimeout(resolve, 45_000));
    for (const { pid } of family) process.kill(pid, 'SIGCONT');
    t.diagnostic(`calls worked again after ${(await recovery()).toFixed(0)} ms`);
    // Time enough for a shim that took the lease for stale to end its sandbox.
    await new Promise((resolve) => setTimeout(resolve, 5000));
    assert.deepEqual({ sandboxes: sandboxes(), spawned: spawned() }, before);
  });

  it('of the watchdog: its processes end, `up` begins again and finds the same sandboxes', async (t) => {
    const servers = ['router', 'controller', 'apiserver', 'egress'].map(pidOf);
    const before = sandboxOf('hello');
    const { pid } = JSON.parse(await workspace.must('status', '-o', 'json')) as { pid: number };
    process.kill(pid, 'SIGKILL');
    const begun = performance.now();
    await until('its processes ended', () => servers.every((one) => identifyProcess(one) === undefined));
    t.diagnostic(`they ended after ${(performance.now() - begun).toFixed(0)} ms`);
    assert.equal((await workspace.ploinky('status')).code, 3);
    url = await workspace.up();
    t.diagnostic(`up again after ${(performance.now() - begun).toFixed(0)} ms`);
    assert.ok(await callGreet());
    assert.deepEqual(sandboxOf('hello'), before);
  });

  it('of the watchdog, and then `down`: nothing is left', async () => {
    const { pid } = JSON.parse(await workspace.must('status', '-o', 'json')) as { pid: number };
    process.kill(pid, 'SIGKILL');
    const family = findFamily(workspace.paths);
    await until('it is gone', () => identifyProcess(pid) === undefined);
    await workspace.must('down');
    await until('its processes ended', () => survivors(family).length === 0);
    assert.deepEqual(findTraces(workspace.paths), { processes: [], mounts: [], sockets: [], cgroups: [] });
  });
});

function health(url: string): Promise<'answered' | 'broken' | 'refused'> {
  return new Promise((resolve) => {
    const call = get(`${url}/health`, { agent: false }, (response: IncomingMessage) => {
      response.resume();
      response.once('end', () => resolve('answered'));
      response.once('error', () => resolve('broken'));
    });
    call.once('error', (error: NodeJS.ErrnoException) => {
      resolve(error.code === 'ECONNREFUSED' ? 'refused' : 'broken');
    });
  });
}

async function until(what: string, holds: () => boolean, ms = 60_000): Promise<void> {
  const deadline = performance.now() + ms;
  while (!holds()) {
    assert.ok(performance.now() < deadline, `waited in vain until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
