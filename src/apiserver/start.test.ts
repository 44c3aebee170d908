import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { systemClock } from '#kit/clock.ts';
import { CodedError } from '#kit/errors.ts';
import { silentLog } from '#kit/log.ts';
import { systemRandom } from '#kit/random.ts';
import { createClient } from '#test/contract/api/client.ts';
import { widget, widgetDefinition } from '#test/contract/api/fixtures/widget.ts';
import { core, widgets } from '#test/contract/api/suite.ts';
import type { Fault } from './faults.ts';
import { type ApiServer, type ApiServerOptions, startApiServer } from './start.ts';

const folders: string[] = [];
after(async () => {
  for (const folder of folders) await rm(folder, { recursive: true, force: true });
});

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'ploinky-start-'));
  folders.push(folder);
  return folder;
}

function start(folder: string, options: Partial<ApiServerOptions> = {}): Promise<ApiServer> {
  return startApiServer({
    definitions: [widgetDefinition],
    dataFolder: join(folder, 'data'),
    socket: join(folder, 'api.sock'),
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
    ...options,
  });
}

async function withServer(
  options: Partial<ApiServerOptions>,
  run: (client: ReturnType<typeof createClient>, server: ApiServer, folder: string) => Promise<void>,
): Promise<void> {
  const folder = await newFolder();
  const server = await start(folder, options);
  const client = createClient({ socket: server.socket });
  try {
    await run(client, server, folder);
  } finally {
    await server.close();
  }
}

test('objects and versions outlive a restart; a watch from before it is told to start anew', {
  timeout: 20_000,
}, async () => {
  const folder = await newFolder();
  const first = await start(folder);
  const before = createClient({ socket: first.socket });
  const made = await before.send('POST', widgets('default'), { body: widget('a') });
  await before.send('DELETE', widgets('default', 'a'));
  await before.send('POST', widgets('default'), { body: widget('b') });
  const { metadata } = (await before.get(widgets('default'))).body;
  await first.close();
  const second = await start(folder);
  const client = createClient({ socket: second.socket });
  const list = (await client.get(widgets('default'))).body;
  assert.deepEqual(
    list.items.map((item: { metadata: { name: string } }) => item.metadata.name),
    ['b'],
  );
  assert.equal(list.metadata.resourceVersion, metadata.resourceVersion);
  const old = await client.watch(
    widgets('default', '', `?watch=1&resourceVersion=${made.body.metadata.resourceVersion}`),
  );
  const [event] = await old.end();
  assert.equal(event?.type, 'ERROR');
  assert.equal(event?.object.code, 410);
  const current = await client.watch(
    widgets('default', '', `?watch=1&resourceVersion=${metadata.resourceVersion}`),
  );
  const next = await client.send('POST', widgets('default'), { body: widget('c') });
  assert.ok(Number(next.body.metadata.resourceVersion) > Number(metadata.resourceVersion));
  assert.equal((await current.until((seen) => seen.length > 0))[0]?.object.metadata.name, 'c');
  current.close();
  await second.close();
});

test('a second server on the same folder is refused', { timeout: 20_000 }, async () => {
  await withServer({}, async (_client, _server, folder) => {
    await assert.rejects(
      start(folder),
      (error) => error instanceof CodedError && error.code === 'StoreLocked',
    );
  });
});

test('a lost key refuses to start instead of losing secrets', { timeout: 20_000 }, async () => {
  const folder = await newFolder();
  const server = await start(folder);
  const client = createClient({ socket: server.socket });
  const body = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' }, stringData: { a: 'b' } };
  assert.equal((await client.send('POST', core('default', 'secrets'), { body })).status, 201);
  await server.close();
  await rm(join(folder, 'data', 'secrets.key'));
  await assert.rejects(
    start(folder),
    (error) => error instanceof CodedError && error.code === 'StoreKeyWrong',
  );
});

test('files are private, the socket too, and a stale socket is replaced', { timeout: 20_000 }, async () => {
  const folder = await newFolder();
  const kubeconfig = join(folder, 'kubeconfig');
  for (let round = 0; round < 2; round += 1) {
    const server = await start(folder, { tls: { port: 0, kubeconfig } });
    for (const file of ['api.sock', 'kubeconfig', 'data/secrets.key', 'data/tls.json'])
      assert.equal((await stat(join(folder, file))).mode & 0o777, 0o600, file);
    assert.equal((await stat(join(folder, 'data'))).mode & 0o777, 0o700);
    await server.close();
  }
});

test('over TLS only the token in the kubeconfig is let in; the port and token stay', {
  timeout: 20_000,
}, async () => {
  const folder = await newFolder();
  const kubeconfig = join(folder, 'kubeconfig');
  const first = await start(folder, { tls: { port: 0, kubeconfig } });
  const config = JSON.parse(await readFile(kubeconfig, 'utf8'));
  const { token } = config.users[0].user;
  const url = first.url ?? '';
  assert.equal((await createClient({ url, token }).get('/api/v1/namespaces')).status, 200);
  const refused = await createClient({ url, token: `${token}x` }).get('/api/v1/namespaces');
  assert.equal(refused.status, 401);
  assert.equal(refused.body.reason, 'Unauthorized');
  assert.equal((await createClient({ url, token: 'x' }).get('/readyz')).status, 200);
  await first.close();
  const second = await start(folder, { tls: { port: 0, kubeconfig } });
  assert.equal(second.url, url);
  assert.deepEqual(JSON.parse(await readFile(kubeconfig, 'utf8')), config);
  await second.close();
});

test('a certificate near its end is replaced, the token stays', { timeout: 20_000 }, async () => {
  const folder = await newFolder();
  const kubeconfig = join(folder, 'kubeconfig');
  const read = async () => {
    const config = JSON.parse(await readFile(kubeconfig, 'utf8'));
    return {
      ca: config.clusters[0].cluster['certificate-authority-data'],
      token: config.users[0].user.token,
    };
  };
  const days = (count: number) => ({ ...systemClock, now: () => Date.now() + count * 86_400_000 });
  const seen = [];
  for (const clock of [days(0), days(290), days(310)]) {
    const server = await start(folder, { tls: { port: 0, kubeconfig }, clock });
    seen.push(await read());
    await server.close();
  }
  assert.deepEqual(seen[1], seen[0]);
  assert.notEqual(seen[2]?.ca, seen[0]?.ca);
  assert.equal(seen[2]?.token, seen[0]?.token);
});

test('what falls out of the window is 410, for a watch and for a page', { timeout: 20_000 }, async () => {
  await withServer({ limits: { historyChanges: 4 } }, async (client) => {
    for (const name of ['a', 'b', 'c']) await client.send('POST', widgets('default'), { body: widget(name) });
    const { metadata } = (await client.get(widgets('default', '', '?limit=1'))).body;
    for (let count = 0; count < 20; count += 1)
      await client.send('POST', widgets('default'), { body: widget(`n${count}`) });
    const page = await client.get(
      widgets('default', '', `?limit=1&continue=${encodeURIComponent(metadata.continue)}`),
    );
    assert.equal(page.status, 410);
    assert.equal(page.body.reason, 'Expired');
    const stream = await client.watch(
      widgets('default', '', `?watch=1&resourceVersion=${metadata.resourceVersion}`),
    );
    assert.equal((await stream.end())[0]?.object.reason, 'Expired');
  });
});

test('bookmarks come to those who asked, with the latest version', { timeout: 20_000 }, async () => {
  await withServer({ limits: { bookmarkSeconds: 0.1 } }, async (client) => {
    const plain = await client.watch(widgets('default', '', '?watch=1'));
    const marked = await client.watch(widgets('default', '', '?watch=1&allowWatchBookmarks=true'));
    const secret = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'other' } };
    const other = await client.send('POST', core('default', 'configmaps'), { body: secret });
    const version = other.body.metadata.resourceVersion;
    const events = await marked.until((seen) =>
      seen.some((event) => event.object.metadata.resourceVersion === version),
    );
    assert.ok(events.every((event) => event.type === 'BOOKMARK' && event.object.kind === 'Widget'));
    assert.equal(plain.events.length, 0);
    plain.close();
    marked.close();
  });
});

test('a watcher that does not read is cut off, the others go on', { timeout: 30_000 }, async () => {
  await withServer({ limits: { watchBufferBytes: 64 * 1024 } }, async (client, server) => {
    const slow = connect(server.socket);
    slow.write(`GET ${widgets('default', '', '?watch=1')} HTTP/1.1\r\nHost: x\r\n\r\n`);
    slow.pause();
    const cut = new Promise((resolve) => slow.once('close', resolve).on('error', () => undefined));
    const quick = await client.watch(widgets('default', '', '?watch=1'));
    const big = 'x'.repeat(50_000);
    for (let count = 0; count < 40; count += 1)
      await client.send('POST', widgets('default'), { body: widget(`n${count}`, { free: { big } }) });
    await quick.until((seen) => seen.length === 40);
    slow.resume();
    await cut;
    quick.close();
  });
});

test('too many watches are 429, too large a body is 413', { timeout: 20_000 }, async () => {
  await withServer({ limits: { watches: 1, bodyBytes: 1000 } }, async (client) => {
    const stream = await client.watch(widgets('default', '', '?watch=1'));
    const refused = await client.get(widgets('default', '', '?watch=1'));
    assert.equal(refused.status, 429);
    assert.ok(Number(refused.headers['retry-after']) > 0);
    stream.close();
    const large = await client.send('POST', widgets('default'), {
      body: widget('a', { free: { big: 'x'.repeat(2000) } }),
    });
    assert.equal(large.status, 413);
    assert.equal((await client.get(widgets('default', 'a'))).status, 404);
  });
});

test('faults come as they are asked for', { timeout: 20_000 }, async () => {
  let next: Fault | undefined;
  const faults = () => {
    const fault = next;
    next = undefined;
    return fault;
  };
  await withServer({ faults }, async (client, server) => {
    next = { kind: 'status', status: 429, retryAfterSeconds: 7 };
    const refused = await client.get(widgets('default'));
    assert.deepEqual([refused.status, refused.headers['retry-after']], [429, '7']);
    next = { kind: 'status', status: 500 };
    assert.equal((await client.get(widgets('default'))).status, 500);
    next = { kind: 'drop' };
    await assert.rejects(client.get(widgets('default')));
    next = { kind: 'delay', milliseconds: 30 };
    assert.equal((await client.get(widgets('default'))).status, 200);
    const stream = await client.watch(widgets('default', '', '?watch=1'));
    server.cutConnections();
    await stream.end();
    assert.equal((await client.get(widgets('default'))).status, 200);
  });
});

test('hostile paths and bodies get a clear refusal', { timeout: 20_000 }, async () => {
  await withServer({}, async (client) => {
    assert.equal((await client.get('/api/v1/namespaces/default/secrets/%zz')).status, 400);
    assert.equal((await client.get('/api/v1/namespaces/default/secrets/a/b/c')).status, 404);
    assert.equal((await client.get('/nowhere')).status, 404);
    const body =
      '{"apiVersion":"contract.ploinky.dev/v1","kind":"Widget","metadata":{"name":"p"},"spec":{"free":{"__proto__":{"polluted":1}}}}';
    const made = await client.send('POST', widgets('default'), { body });
    assert.equal(made.status, 201, made.text);
    assert.equal(({} as Record<string, unknown>)['polluted'], undefined);
    assert.match((await client.get(widgets('default', 'p'))).text, /"__proto__":\{"polluted":1\}/);
    const merged = await client.send('PATCH', widgets('default', 'p'), {
      body: '{"spec":{"free":{"__proto__":{"more":2}}},"__proto__":{"spec":1}}',
      type: 'application/merge-patch+json',
    });
    assert.equal(merged.status, 200);
    assert.equal(({} as Record<string, unknown>)['more'], undefined);
  });
});
