import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, rename, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { eventually, spawnerCommand, temporaryFolder, testConfig } from '#agent-server/testing/harness.ts';
import type { AgentServerConfig } from '#api/agent-server-config.ts';

/** The agent-server as a pod runs it: configuration in a mounted Secret, a port, signals of a kubelet. */
const bounded = { timeout: 60_000 };
const main = spawnerCommand[1] ?? '';
const key = (byte: number) => ({
  kid: `kid-${byte}`,
  secret: Buffer.alloc(32, byte).toString('base64url'),
});

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** A mounted Secret as a kubelet keeps it: the file leads through the link `..data` to a folder of one version. */
async function mountedSecret(t: TestContext) {
  const folder = await temporaryFolder(t);
  let version = 0;
  const path = join(folder, 'config.json');
  await symlink('..data/config.json', path);
  return {
    path,
    async put(config: AgentServerConfig): Promise<void> {
      version += 1;
      await mkdir(join(folder, `..v${version}`));
      await writeFile(join(folder, `..v${version}`, 'config.json'), JSON.stringify(config));
      await symlink(`..v${version}`, join(folder, '..next'));
      await rename(join(folder, '..next'), join(folder, '..data'));
    },
  };
}

/** Without the instance's name, which the pod's own metadata gives. */
function podConfig(folder: string, changes: Partial<AgentServerConfig> = {}): AgentServerConfig {
  const config = testConfig(folder, changes);
  return { ...config, agent: { ...config.agent, instance: '' } };
}

interface Pod {
  readonly child: ChildProcess;
  get(path: string): Promise<{ status: number; json: Record<string, unknown> }>;
  call(name: string): Promise<string>;
}

async function startPod(t: TestContext, path: string, args: readonly string[]): Promise<Pod> {
  const port = await freePort();
  const listen = ['--listen', `127.0.0.1:${port}`];
  const child = spawn(process.execPath, [main, '--config-file', path, ...listen, ...args], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  t.after(() => child.kill('SIGKILL'));
  const url = `http://127.0.0.1:${port}`;
  const pod: Pod = {
    child,
    async get(target) {
      const answer = await fetch(url + target);
      return { status: answer.status, json: (await answer.json()) as Record<string, unknown> };
    },
    async call(name) {
      const meta = {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientCapabilities': {},
      };
      const answer = await fetch(`${url}/mcp`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          'mcp-protocol-version': '2026-07-28',
          'mcp-method': 'tools/call',
          'mcp-name': name,
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, _meta: meta } }),
      });
      return answer.text();
    },
  };
  await eventually(
    'it listens',
    async () => (await pod.get('/health').catch(() => undefined))?.status === 200,
  );
  return pod;
}

const isReady = (pod: Pod) => async () => (await pod.get('/ready')).status === 200;

test('a pod is ready when its upstream answers, and says no more than why it is not', bounded, async (t) => {
  const secret = await mountedSecret(t);
  const port = await freePort();
  await secret.put(podConfig('/tmp', { mcp: { upstream: { port, path: '/mcp' } } }));
  const pod = await startPod(t, secret.path, ['--instance', 'pod-1']);
  const { status, json } = await pod.get('/ready');
  assert.equal(status, 503);
  assert.deepEqual(Object.keys(json), ['ready', 'reason']);
  await eventually('its reason', async () => (await pod.get('/ready')).json['reason'] === 'UpstreamNotReady');
  assert.equal((await pod.get('/health')).status, 200, 'it lives all the same');
});

test(
  'a new version of the mounted Secret is taken up while the pod runs; a broken one is not',
  bounded,
  async (t) => {
    const secret = await mountedSecret(t);
    const mcp = { tools: [{ name: 'say', command: '/bin/echo', args: ['said'] }] };
    const limits = { configPollMs: 100 };
    await secret.put(podConfig('/tmp', { keys: [key(1)], mcp, limits }));
    const pod = await startPod(t, secret.path, ['--instance', 'pod-1', '--no-tokens']);
    await eventually('it is ready', isReady(pod));
    const nonce = Buffer.alloc(32, 3).toString('base64url');
    const proves = async (kids: string) =>
      (await pod.get(`/.well-known/ploinky-proof?nonce=${nonce}&kids=${kids}`)).json['kid'];
    assert.equal(await proves('kid-2,kid-1'), 'kid-1');
    await secret.put(podConfig('/tmp', { keys: [key(2), key(1)], mcp, limits }));
    await eventually('the new key', async () => (await proves('kid-2,kid-1')) === 'kid-2');
    assert.equal(await proves('kid-1'), 'kid-1', 'the other end may not know the new one');
    assert.equal(await proves('kid-9'), 'kid-2');
    const other = podConfig('/tmp', { keys: [key(3)], mcp, limits });
    await secret.put({ ...other, agent: { ...other.agent, uid: 'another' } });
    await new Promise((resolve) => setTimeout(resolve, 500));
    assert.equal(await proves(''), 'kid-2', 'the configuration of another agent');
    await secret.put(podConfig('/tmp', { keys: [key(4)], mcp, limits }));
    await eventually('the key after that', async () => (await proves('')) === 'kid-4');
    assert.match(await pod.call('say'), /said/);
  },
);

test(
  'a pod that is told to end serves on until nobody sends any more, finishes, and exits with 0',
  bounded,
  async (t) => {
    const secret = await mountedSecret(t);
    const tools = [
      { name: 'say', command: '/bin/echo', args: ['said'] },
      { name: 'nap', command: '/bin/sh', args: ['-c', 'sleep 2; echo slept'] },
      { name: 'later', command: '/bin/sh', args: ['-c', 'sleep 2; echo > done-later'], async: true },
    ];
    const folder = await temporaryFolder(t);
    const limits = { drainDelayMs: 1_000, drainMs: 20_000, maxParallelTasks: 1 };
    await secret.put(podConfig(folder, { mcp: { tools }, limits }));
    const pod = await startPod(t, secret.path, ['--instance', 'pod-1', '--no-tokens']);
    await eventually('it is ready', isReady(pod));
    const queued = await pod.call('later');
    assert.match(queued, /queued with id/);
    const running = pod.call('nap');
    await new Promise((resolve) => setTimeout(resolve, 100));
    const exited = new Promise((resolve) => pod.child.once('exit', (code) => resolve(code)));
    const begun = performance.now();
    pod.child.kill('SIGTERM');
    await eventually('it is ready no more', async () => (await pod.get('/ready')).status === 503);
    assert.equal((await pod.get('/ready')).json['reason'], 'Stopping');
    const late = pod.call('say');
    assert.match(await running, /slept/);
    assert.match(await late, /said/);
    assert.equal(await exited, 0);
    assert.ok(performance.now() - begun >= 1_000);
    const { readdir } = await import('node:fs/promises');
    assert.ok((await readdir(folder)).includes('done-later'), 'a queued task is not lost');
  },
);

test('a pod without a name for itself does not start', bounded, async (t) => {
  const secret = await mountedSecret(t);
  await secret.put(podConfig('/tmp'));
  const child = spawn(process.execPath, [main, '--config-file', secret.path], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  t.after(() => child.kill('SIGKILL'));
  const said = text(child.stderr);
  const code = await new Promise((resolve) => child.once('exit', resolve));
  assert.equal(code, 1);
  assert.match(await said, /agent\.instance is empty.*--instance/);
});
