import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { startAuthorizationServer } from '#test/fixtures/remote/authorization-server.ts';
import { guardServer } from '#test/fixtures/remote/guarded-server.ts';
import { type Hosts, makeCertificate, startEverything } from '#test/fixtures/remote/remote-place.ts';
import { createWorkspace, type TestWorkspace } from '#test/fixtures/workspace/workspace.ts';

// A whole workspace beside servers elsewhere: runs in a network of its own, where `names` are this machine.

const names: Readonly<Record<string, string>> = { 'mcp.test': '203.0.113.10', 'auth.test': '203.0.113.11' };
const canary = 'canary-of-a-secret';

async function realHosts(t: TestContext): Promise<Pick<Hosts, 'ca' | 'serve'>> {
  const { key, cert } = await makeCertificate(Object.keys(names));
  return {
    ca: cert,
    async serve(name, listener) {
      const server = createServer({ key, cert }, listener).listen(443, names[name]);
      await once(server, 'listening');
      const close = () => {
        server.close();
        server.closeAllConnections();
      };
      t.after(close);
      return { close };
    },
  };
}

const object = (kind: string, name: string, members: object) => ({
  apiVersion: 'v1',
  kind,
  metadata: { name, namespace: 'default' },
  ...members,
});
const secret = (key: string) =>
  object('Secret', 'remote', { stringData: { key: `${canary}-${key}\n`, client: `${canary}-client` } });

const agent = {
  apiVersion: 'ploinky.dev/v1alpha1',
  kind: 'Agent',
  metadata: { name: 'remote' },
  spec: {
    mcp: {
      upstream: {
        url: 'https://mcp.test/mcp',
        headersFrom: [{ name: 'X-Key', secretKeyRef: { name: 'remote', key: 'key' } }],
        oauth: {
          mode: 'clientCredentials',
          issuer: 'https://auth.test',
          clientId: 'agent',
          clientSecretRef: { name: 'remote', key: 'client' },
        },
        ca: { configMapKeyRef: { name: 'authorities', key: 'ca.pem' } },
      },
    },
  },
};

async function apply(workspace: TestWorkspace, what: object): Promise<void> {
  const file = join(workspace.paths.root, 'object.json');
  await writeFile(file, JSON.stringify(what));
  await workspace.must('apply', '-f', file);
}

interface Shown {
  readonly status?: {
    readonly conditions?: readonly { type: string; status: string; reason: string; message: string }[];
    readonly endpoints?: readonly { uid: string }[];
  };
}

async function show(workspace: TestWorkspace): Promise<Shown> {
  return JSON.parse(await workspace.must('get', 'agent', 'remote', '-o', 'json')) as Shown;
}

async function untilReason(workspace: TestWorkspace, reason: string): Promise<void> {
  const end = performance.now() + 90_000;
  for (;;) {
    const ready = (await show(workspace)).status?.conditions?.find(({ type }) => type === 'Ready');
    if (ready?.reason === reason) return;
    if (performance.now() > end) assert.fail(`${reason} is wanted, ${JSON.stringify(ready)} is there`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

function argumentsOfAll(): string {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids
    .map((pid) => readSafely(`/proc/${pid}/cmdline`) + readSafely(`/proc/${pid}/environ`))
    .join('\n');
}

function readSafely(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

test('an agent that is a server elsewhere, in a workspace', { timeout: 300_000 }, async (t) => {
  const hosts = await realHosts(t);
  const everything = await startEverything(t);
  const guarded = await guardServer(hosts, 'mcp.test', everything.port, ['https://auth.test']);
  const client = { client_id: 'agent', client_secret: `${canary}-client` };
  const authorization = await startAuthorizationServer(hosts, 'auth.test', {
    clients: [{ ...client, token_endpoint_auth_method: 'client_secret_basic' }],
  });
  const good = new Set([`${canary}-1`]);
  guarded.judge = async ({ headers }) => {
    const token = headers.authorization?.replace(/^Bearer /, '') ?? '';
    return good.has(String(headers['x-key'])) && (await authorization.knows(token))
      ? undefined
      : { status: 401 };
  };
  const workspace = await createWorkspace({ examples: [] });
  t.after(() => workspace.remove());
  await workspace.up();
  await apply(workspace, agent);
  await untilReason(workspace, 'SecretMissing');
  await apply(workspace, object('ConfigMap', 'authorities', { data: { 'ca.pem': hosts.ca } }));
  await apply(workspace, secret('1'));
  await untilReason(workspace, 'Ready');
  const call = async () => (await workspace.must('call', 'echo', '-a', 'remote', '-p', 'message=hi')).trim();
  assert.equal(await call(), 'Echo: hi');

  await t.test('a new header is used without a restart, and no call fails meanwhile', async () => {
    const before = (await show(workspace)).status?.endpoints?.map(({ uid }) => uid);
    good.add(`${canary}-2`);
    await apply(workspace, secret('2'));
    const isNew = () => guarded.seen.some((headers) => headers['x-key'] === `${canary}-2`);
    for (let calls = 0; calls < 3 || (!isNew() && calls < 60); calls += 1)
      assert.equal(await call(), 'Echo: hi');
    good.delete(`${canary}-1`);
    assert.equal(await call(), 'Echo: hi');
    assert.deepEqual(
      (await show(workspace)).status?.endpoints?.map(({ uid }) => uid),
      before,
    );
  });

  await t.test(
    'no secret is in the status, the log, or the arguments and environment of any process',
    async () => {
      const log = await workspace.must('logs', 'remote');
      assert.ok(!`${JSON.stringify(await show(workspace))}${log}${argumentsOfAll()}`.includes(canary));
    },
  );

  await t.test('a server that refuses or is gone is told, and served again', async () => {
    const { judge } = guarded;
    guarded.judge = () => ({ status: 401 });
    await workspace.ploinky('call', 'echo', '-a', 'remote', '-p', 'message=hi');
    await untilReason(workspace, 'UpstreamUnauthorized');
    guarded.judge = judge;
    await untilReason(workspace, 'Ready');
    assert.equal(await call(), 'Echo: hi');
  });
});
