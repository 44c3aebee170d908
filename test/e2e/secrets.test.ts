import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { resources } from '#api/resources.ts';
import { systemClock } from '#kit/clock.ts';
import { createClient } from '#kube/client.ts';
import { unixEndpoint } from '#kube/endpoint.ts';
import { type Canaries, scanFolders, scanProcesses, scanText } from '#test/fixtures/canaries/scan.ts';
import { findFamily, readRecords } from '#test/fixtures/workspace/traces.ts';
import { checkout, createWorkspace, type TestWorkspace } from '#test/fixtures/workspace/workspace.ts';

// What a workspace is given and nobody may see: where it is, and where it must not be.

const seed = 'canary-seed-5b1f0a7c9d2e4f6081a3b5c7d9e0f1a2';
const own = { STORE_ONE: 'canary-store/one+"value" 1', ENV_ONE: 'canary-env-one-value' };
const others: Canaries = {
  STORE_TWO: 'canary-store-two-value',
  STORE_UNUSED: 'canary-store-unused-value',
  ENV_UNUSED: 'canary-env-unused-value',
  DOT_UNUSED: 'canary-dot-unused-value',
};

const variable = (name: string) => ({ name, valueFrom: { alias: name } });
const agent = (name: string, variables: readonly object[], spec: object) =>
  JSON.stringify({
    apiVersion: 'ploinky.dev/v1alpha1',
    kind: 'Agent',
    metadata: { name },
    spec: { env: variables, ...spec },
  });
const noisy = [
  'printf "plain %s\\n" "$STORE_ONE$STORE_TWO"',
  'printf "coded "; printf "%s" "$STORE_ONE$STORE_TWO" | base64',
  'while :; do sleep 1; done',
].join('\n');
const fails = 'echo "refused: $STORE_ONE" >&2; exit 3';
const tools = [{ name: 'fails', command: 'sh fails.sh' }];
const code = { inline: { 'main.sh': noisy, 'fails.sh': fails } };
const command = ['sh', 'main.sh'];
const objects = [
  agent('one', [variable('STORE_ONE'), variable('ENV_ONE')], { code, command, mcp: { tools } }),
  agent('two', [variable('STORE_TWO')], { code, command, mcp: { tools } }),
  agent('loud', [variable('STORE_ONE')], {
    mcp: { upstream: { stdio: ['sh', '-c', 'echo "my key is $STORE_ONE" >&2; exit 1'] } },
  }),
];

describe('Secrets of a workspace', { timeout: 240_000 }, () => {
  let workspace: TestWorkspace;
  before(async () => {
    const env = { PLOINKY_MASTER_KEY: seed, ENV_ONE: own.ENV_ONE, ENV_UNUSED: others['ENV_UNUSED'] ?? '' };
    workspace = await createWorkspace({ examples: [], env });
    writeFileSync(join(workspace.paths.root, '.env'), `DOT_UNUSED=${others['DOT_UNUSED']}\n`);
  });
  after(() => workspace?.remove());

  /** With a value as standard input. */
  async function give(value: string, ...args: string[]) {
    const child = spawn(join(checkout, 'bin/ploinky'), [...args, '-C', workspace.paths.root], {
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { ...process.env, PLOINKY_MASTER_KEY: seed, NO_COLOR: '1' },
    });
    child.stdin.end(`${value}\n`);
    const [[exitCode], stdout, stderr] = await Promise.all([
      once(child, 'close'),
      text(child.stdout),
      text(child.stderr),
    ]);
    return { code: exitCode as number, said: stdout + stderr };
  }
  const set = async (name: string, value: string) => {
    const { code: exitCode, said } = await give(value, 'secret', 'set', name);
    assert.equal(exitCode, 0, said);
    assert.deepEqual(scanText(said, { value }), []);
  };
  async function waitFor<T>(what: string, look: () => Promise<T | undefined> | T | undefined): Promise<T> {
    for (let tries = 0; tries < 160; tries += 1) {
      const found = await look();
      if (found !== undefined) return found;
      await sleep(250);
    }
    assert.fail(`never: ${what}`);
  }
  const sandboxOf = (name: string) =>
    readRecords(workspace.paths).find((record) => record.workload.name === name);
  const shimOf = (name: string) => sandboxOf(name)?.shim.pid;

  it('are set from standard input, before the workspace is up, and never from the command line', async () => {
    for (const [name, value] of Object.entries({ ...own, ...others }))
      if (name.startsWith('STORE')) await set(name, value);
    for (const args of [
      ['secret', 'set', 'A', 'canary-argv'],
      ['secret', 'set', 'A=canary-argv'],
      ['var', 'A', 'canary-argv'],
    ]) {
      const refused = await workspace.ploinky(...args);
      assert.equal(refused.code, 2);
      assert.match(refused.stderr, /a value on the command line is seen by everybody/);
      assert.doesNotMatch(refused.stderr + refused.stdout, /canary-argv/);
    }
    assert.equal((await give('x', 'secret', 'set', 'PLOINKY_MASTER_KEY')).code, 2);
    assert.match((await workspace.ploinky('echo', '$STORE_ONE')).stderr, /values of secrets are not shown/);
  });

  it('reach the agents that name them', async () => {
    const files = objects.map((object, index) => {
      const path = join(workspace.paths.root, `agent-${index}.json`);
      writeFileSync(path, object);
      return path;
    });
    await workspace.must('up', '--detach', '--timeout', '30').catch(() => undefined);
    await workspace.must('apply', ...files.flatMap((path) => ['-f', path]));
    await waitFor('two sandboxes that are Ready', async () => {
      const { stdout } = await workspace.ploinky('get', 'agents', 'one', 'two', '-o', 'json');
      return stdout.match(/"reason": "Ready"/g)?.length === 4 ? true : undefined;
    });
    const list = await workspace.must('secret', 'list');
    assert.match(list, /^STORE_ONE +\.ploinky\/\.secrets +loud, one +\d+s ago$/m);
    assert.match(list, /^ENV_ONE +environment or \.env, or missing +one$/m);
    assert.deepEqual(scanText(list, { ...own, ...others }), []);
  });

  it('are in no process but those of their own agent, in no file, no log, no object and no answer', async () => {
    assert.equal((await workspace.ploinky('task', 'run', 'one', 'fails')).code, 7);
    await waitFor('a log of both', async () => {
      const logs = await Promise.all(['one', 'two', 'loud'].map((name) => workspace.must('logs', name)));
      return logs.every((log) => log.includes('[redacted]')) ? true : undefined;
    });
    const master = JSON.parse(await workspace.must('get', 'secret', 'ploinky-master', '-o', 'json')) as {
      data: { current: string };
    };
    const masterBytes = Buffer.from(master.data.current, 'base64');
    const masters = { SEED: seed, MASTER: master.data.current, MASTER_HEX: masterBytes.toString('hex') };
    const all: Canaries = { ...own, ...others, ...masters };

    const family = findFamily(workspace.paths).map(({ pid }) => pid);
    const sandboxes = { one: ['STORE_ONE', 'ENV_ONE'], two: ['STORE_TWO'], loud: ['STORE_ONE'] };
    const belongs = new Map(
      Object.entries(sandboxes).flatMap(([name, allowed]) => {
        const shim = shimOf(name);
        return shim === undefined
          ? []
          : below(shim)
              .filter((pid) => pid !== shim)
              .map((pid) => [pid, allowed] as const);
      }),
    );
    assert.deepEqual(
      scanProcesses(family, all, (pid) => belongs.get(pid) ?? []),
      [],
    );
    // The scanner does see what is there: each agent's own process has what it was given.
    const seen = scanProcesses(family, all).map((hit) => hit.split(' ')[0]);
    assert.ok(
      seen.includes('STORE_ONE') && seen.includes('STORE_TWO') && seen.includes('ENV_ONE'),
      String(seen),
    );

    const { root, runtime } = workspace.paths;
    const { hits, files } = scanFolders([root, runtime], all, [join(root, '.env')]);
    assert.deepEqual(hits, []);
    assert.ok(files > 20, `${files} files`);

    const client = createClient({ endpoint: unixEndpoint(workspace.paths.apiSocket), clock: systemClock });
    try {
      for (const resource of resources.filter(({ kind }) => kind !== 'Secret')) {
        const objects = JSON.stringify(await client.list(resource, {}));
        assert.deepEqual(scanText(objects, all), [], resource.kind);
      }
    } finally {
      await client.close();
    }
    const answers = [
      ['describe', 'agent', 'loud'],
      ['describe', 'secret', 'ploinky-master'],
      ['logs', 'one'],
      ['status', '-o', 'json'],
    ];
    for (const args of answers)
      assert.deepEqual(scanText(await workspace.must(...args), all), [], args.join(' '));
    const tasks = JSON.parse(await workspace.must('get', 'tasks', '-o', 'json')) as {
      items: { metadata: { name: string } }[];
    };
    const [task] = tasks.items;
    assert.ok(task !== undefined);
    const described = await workspace.must('describe', 'task', task.metadata.name);
    assert.match(described, /refused: \[redacted\]/);
    const taskLog = await workspace.ploinky('task', 'logs', task.metadata.name);
    assert.match(taskLog.stdout, /refused: \[redacted\]/);
    assert.deepEqual(scanText(described + taskLog.stdout, all), []);
  });

  it('would be found where they must not be: in an environment, an argument, a file', async () => {
    const canaries = { PLANTED: 'canary-planted-"value"' };
    const child = spawn('sleep', ['30'], { env: { X: `key=${canaries.PLANTED}` } });
    const coded = Buffer.from(`user:${canaries.PLANTED}`).toString('base64');
    const other = spawn('sh', ['-c', 'sleep 30; :', coded]);
    const path = join(workspace.paths.logs, 'planted.log');
    writeFileSync(path, JSON.stringify({ line: canaries.PLANTED }));
    try {
      const pids = [child.pid ?? 0, other.pid ?? 0];
      await waitFor('both programs', () =>
        pids.every((pid) => /sleep/.test(readFileSync(`/proc/${pid}/cmdline`, 'utf8'))) ? true : undefined,
      );
      assert.deepEqual(scanProcesses(pids, canaries), [
        `PLANTED in environ of ${pids[0]}`,
        `PLANTED in cmdline of ${pids[1]}`,
      ]);
      assert.deepEqual(scanFolders([workspace.paths.root], canaries).hits, [`PLANTED in ${path}`]);
    } finally {
      child.kill('SIGKILL');
      other.kill('SIGKILL');
      writeFileSync(path, '');
    }
  });

  it('are in no file that a crash leaves', async () => {
    const family = findFamily(workspace.paths).map(({ pid }) => pid);
    const limits = (pid: number) =>
      readFileSync(`/proc/${pid}/limits`, 'utf8').match(/core file size +(\w+) +(\w+)/);
    for (const pid of family) assert.deepEqual(limits(pid)?.slice(1), ['0', '0'], `${pid}`);
    const control = spawn('sh', ['-c', 'ulimit -c unlimited; exec sleep 30']);
    const pid = control.pid ?? 0;
    const limited = await waitFor('the limit', () =>
      limits(pid)?.[1] === '0' ? undefined : limits(pid)?.[1],
    );
    control.kill('SIGKILL');
    assert.equal(limited, 'unlimited');
    const controller = family.find((each) =>
      /controller\.ts/.test(readFileSync(`/proc/${each}/cmdline`, 'utf8')),
    );
    assert.ok(controller !== undefined);
    process.kill(controller, 'SIGABRT');
    await waitFor('another controller', () => {
      const next = findFamily(workspace.paths).map((each) => each.pid);
      const found = next.find((each) => /controller\.ts/.test(commandOf(each)));
      return found === undefined || found === controller ? undefined : found;
    });
    const { hits } = scanFolders([workspace.paths.root], { ...own, ...others, SEED: seed }, [
      join(workspace.paths.root, '.env'),
    ]);
    assert.deepEqual(hits, []);
  });

  it('restart those who use them when they change, and nobody else', async () => {
    const before = { one: shimOf('one'), two: shimOf('two') };
    await set('STORE_UNUSED', 'canary-store-unused-next');
    await set('STORE_ONE', 'canary-store-one-next');
    const next = await waitFor('another sandbox of one', () => {
      const pid = shimOf('one');
      return pid === before.one ? undefined : pid;
    });
    assert.notEqual(next, before.one);
    await waitFor('the new value in one', () =>
      below(next).some((pid) => scanProcesses([pid], { NEXT: 'canary-store-one-next' }).length > 0)
        ? true
        : undefined,
    );
    assert.equal(shimOf('two'), before.two);
  });

  it('that are aliases of each other are told of by name', async () => {
    await workspace.must('secret', 'set', 'LOOP_A', '--alias', 'LOOP_B');
    await workspace.must('secret', 'set', 'LOOP_B', '--alias', 'LOOP_A');
    const path = join(workspace.paths.root, 'loop.json');
    writeFileSync(path, agent('loop', [variable('LOOP_A')], {}));
    await workspace.must('apply', '-f', path);
    const told = await waitFor('the cycle', async () => {
      const { stdout } = await workspace.ploinky('describe', 'agent', 'loop');
      return stdout.includes('SecretMissing') ? stdout : undefined;
    });
    assert.match(told, /spec\.env\[0\] \(LOOP_A\): the alias leads back to itself: LOOP_A → LOOP_B → LOOP_A/);
  });

  it('of a .env file are imported, seen before and never overwritten unasked', async () => {
    const path = join(workspace.paths.root, 'more.env');
    writeFileSync(path, 'NEW=canary-new-value\nSTORE_TWO=canary-other-value\nLINK=$NEW\n');
    const dry = await workspace.must('secret', 'import', path, '--dry-run');
    assert.match(dry, /^LINK would be added\nNEW would be added\nSTORE_TWO has another value and stays/);
    assert.doesNotMatch(await workspace.must('secret', 'list', '-o', 'name'), /^NEW$/m);
    await workspace.must('secret', 'import', path);
    const list = await workspace.must('secret', 'list');
    assert.match(list, /^LINK +\.ploinky\/\.secrets +NEW /m);
    await workspace.must('secret', 'rm', 'NEW', 'LINK');
    assert.equal((await workspace.ploinky('secret', 'rm', 'NEW')).code, 4);
  });
});

/** A process and all below it. */
function below(pid: number): number[] {
  const children = readOrEmpty(`/proc/${pid}/task/${pid}/children`).split(' ').filter(Boolean).map(Number);
  return [pid, ...children.flatMap(below)];
}

function commandOf(pid: number): string {
  return readOrEmpty(`/proc/${pid}/cmdline`);
}

function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
