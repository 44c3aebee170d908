import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Client, createClient } from './client.ts';
import { widget } from './fixtures/widget.ts';
import { core, mergeType, widgets } from './suite.ts';

const rounds = 8;
const writers = 8;

/** What was acknowledged: name → size, or undefined when its removal was. */
type Acknowledged = Map<string, { size: number | undefined; version: number }>;

async function startChild(data: string, socket: string): Promise<ChildProcess> {
  const child = spawn(
    process.execPath,
    [join(import.meta.dirname, 'fixtures/crash-child.ts'), data, socket],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  await new Promise<void>((resolve, reject) => {
    child.stdout?.once('data', () => resolve());
    child.once('exit', (code) => reject(new Error(`the server ended with ${code}`)));
  });
  return child;
}

/** Creates, changes and removes until the connection breaks; notes each write as soon as it is acknowledged. */
async function write(
  client: Client,
  writer: string,
  done: Acknowledged,
  inDoubt: Set<string>,
): Promise<void> {
  for (let count = 0; ; count += 1) {
    const name = `${writer}-${count}`;
    inDoubt.add(name);
    try {
      const made = await client.send('POST', widgets('default'), { body: widget(name, { size: 1 }) });
      assert.equal(made.status, 201, made.text);
      done.set(name, { size: 1, version: Number(made.body.metadata.resourceVersion) });
      const changed = await client.send('PATCH', widgets('default', name), {
        body: { spec: { size: 7 } },
        type: mergeType,
      });
      assert.equal(changed.status, 200, changed.text);
      done.set(name, { size: 7, version: Number(changed.body.metadata.resourceVersion) });
      if (count % 3 === 0) {
        assert.equal((await client.send('DELETE', widgets('default', name))).status, 200);
        done.set(name, { size: undefined, version: 0 });
      }
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error;
      return;
    }
    inDoubt.delete(name);
  }
}

async function compare(client: Client, done: Acknowledged, inDoubt: ReadonlySet<string>): Promise<number> {
  const { body } = await client.get(widgets('default'));
  const found = new Map<string, { spec: { size: number }; metadata: { resourceVersion: string } }>(
    body.items.map((item: { metadata: { name: string } }) => [item.metadata.name, item]),
  );
  let highest = 0;
  for (const [name, { size, version }] of done) {
    const object = found.get(name);
    highest = Math.max(highest, version);
    // The write after the last acknowledged one may have happened: a lost answer is not a lost write.
    if (inDoubt.has(name)) {
      if (size === 1) assert.ok(object !== undefined && [1, 7].includes(object.spec.size), name);
      continue;
    }
    assert.equal(object?.spec.size, size, name);
    if (object !== undefined) assert.equal(Number(object.metadata.resourceVersion), version, name);
  }
  for (const name of found.keys())
    assert.ok(done.has(name) || inDoubt.has(name), `${name} came from nowhere`);
  assert.ok(Number(body.metadata.resourceVersion) >= highest, 'versions only grow');
  return Number(body.metadata.resourceVersion);
}

test('kill -9 at any moment loses nothing that was acknowledged', { timeout: 120_000 }, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'ploinky-crash-'));
  const socket = join(folder, 'api.sock');
  const done: Acknowledged = new Map();
  const inDoubt = new Set<string>();
  let last = 0;
  try {
    for (let round = 0; round < rounds; round += 1) {
      const child = await startChild(join(folder, 'data'), socket);
      const client = createClient({ socket });
      const version = await compare(client, done, inDoubt);
      assert.ok(version >= last, `version ${version} after ${last}`);
      last = version;
      const ended = new Promise((resolve) => child.once('exit', resolve));
      const writing = Array.from({ length: writers }, (_, index) =>
        write(client, `r${round}w${index}`, done, inDoubt),
      );
      setTimeout(() => child.kill('SIGKILL'), 150 + round * 61);
      await Promise.all(writing);
      await ended;
    }
    assert.ok(done.size > 100, `only ${done.size} objects were written`);
    const child = await startChild(join(folder, 'data'), socket);
    await compare(createClient({ socket }), done, inDoubt);
    child.kill('SIGKILL');
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

test('secrets are on disk in no clear form, and their key is private', { timeout: 60_000 }, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'ploinky-secret-'));
  const socket = join(folder, 'api.sock');
  const child = await startChild(join(folder, 'data'), socket);
  try {
    const client = createClient({ socket });
    const clear = 'canary-Zk3xQ9vR';
    const body = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' }, stringData: { pass: clear } };
    assert.equal((await client.send('POST', core('default', 'secrets'), { body })).status, 201);
    const map = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'c' },
      data: { open: 'canary-in-clear' },
    };
    assert.equal((await client.send('POST', core('default', 'configmaps'), { body: map })).status, 201);
    child.kill('SIGKILL');
    let all = '';
    for (const file of await readdir(join(folder, 'data')))
      all += await readFile(join(folder, 'data', file), 'latin1');
    assert.ok(all.includes('canary-in-clear'), 'the control: what is not secret is found');
    assert.ok(!all.includes(clear) && !all.includes(Buffer.from(clear).toString('base64')));
  } finally {
    child.kill('SIGKILL');
    await rm(folder, { recursive: true, force: true });
  }
});
