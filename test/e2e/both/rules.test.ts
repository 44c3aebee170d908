import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createPlace, missingPlace, type Place } from '#test/fixtures/place/place.ts';

// Rules of who may call what, of an Agent and of a Route: four people with a role each, twenty tools. What each of them
// sees is what each of them can call, on a laptop and on a cluster.

const roles = ['viewer', 'editor', 'operator', 'admin'] as const;
type Role = (typeof roles)[number];

const names = Array.from(
  { length: 20 },
  (_, index) => `${['read', 'write', 'run', 'drop'][index % 4]}_${index}`,
);
const tools = names.map((name) => ({
  name,
  description: `Says that it is ${name}.`,
  command: `node say.mjs ${name}`,
  inputSchema: { type: 'object' },
}));
/** 5, 10, 15 and 20 of the tools. */
const allow = [
  { tools: ['read_*'] },
  { tools: ['write_*'], roles: ['editor', 'operator'] },
  { tools: ['run_*'], roles: ['operator'] },
  { tools: ['*'], roles: ['admin'] },
];
const seenBy: Readonly<Record<Role, number>> = { viewer: 5, editor: 10, operator: 15, admin: 20 };
const auth = { mode: 'pwd', usersSecretRef: { name: 'people' }, allow };
const code = { inline: { 'say.mjs': 'console.log(`it is ${process.argv[2]}`);' } };
const objects = [
  agent('vault', { auth }),
  agent('open', {}),
  {
    apiVersion: 'ploinky.dev/v1alpha1',
    kind: 'Route',
    metadata: { name: 'desk' },
    spec: { agents: [{ name: 'open' }], paths: ['/desk'], mcp: {}, auth },
  },
];

function agent(name: string, spec: object) {
  return {
    apiVersion: 'ploinky.dev/v1alpha1',
    kind: 'Agent',
    metadata: { name },
    spec: { code, mcp: { tools }, ...spec },
  };
}

describe('rules of who may call what', { skip: missingPlace, timeout: 600_000 }, () => {
  let place: Place;
  let url: string;
  const keys = new Map<Role, string>();
  before(async () => {
    place = await createPlace({ examples: [] });
    const files = objects.map(async (made) => {
      const file = join(place.folder, `${made.metadata.name}.json`);
      await writeFile(file, JSON.stringify(made));
      return file;
    });
    url = await place.up(...(await Promise.all(files)));
    for (const role of roles) {
      await withInput(
        place,
        `a long password of ${role}`,
        'user',
        'add',
        role,
        '--agent',
        'vault',
        '--role',
        role,
      );
      const made = await place.must('key', 'create', role, '--user', role, '--agent', 'vault', '-o', 'json');
      keys.set(role, (JSON.parse(made) as { key: string }).key);
    }
    const [last = 'admin'] = roles.toReversed();
    await until(async () => (await open(url, '/mcps/vault/mcp', keys.get(last))) !== undefined);
    await until(async () => (await open(url, '/desk/mcp', keys.get(last))) !== undefined);
  });
  after(() => place?.remove());

  for (const path of ['/mcps/vault/mcp', '/desk/mcp']) {
    it(`at ${path} each role is listed the tools that it can call, and can call no other`, async () => {
      assert.equal(await open(url, path, undefined), undefined, 'nobody comes in without a key');
      for (const role of roles) {
        const client = await open(url, path, keys.get(role));
        assert.ok(client !== undefined, role);
        const list = await client.tools();
        assert.equal(list.length, seenBy[role], role);
        const called = await Promise.all(names.map(async (name) => [name, await client.call(name)] as const));
        for (const [name, said] of called)
          assert.equal(said, list.includes(name) ? `it is ${name}` : `tool '${name}' was not found`, role);
      }
    });
  }

  it('without rules the same tools are everybody’s', async () => {
    const client = await open(url, '/mcps/open/mcp', undefined);
    assert.equal((await client?.tools())?.length, names.length);
    assert.equal(await client?.call('drop_3'), 'it is drop_3');
  });
});

interface Client {
  tools(): Promise<string[]>;
  /** What the tool says, or why it was not called. */
  call(name: string): Promise<string>;
}

/** A session; undefined when it is refused. */
async function open(url: string, path: string, key: string | undefined): Promise<Client | undefined> {
  const version = { 'mcp-protocol-version': '2025-06-18' };
  const send = (method: string, params: object, more: Record<string, string> = {}) =>
    fetch(`${url}${path}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...(key !== undefined && { authorization: `Bearer ${key}` }),
        ...more,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    });
  const clientInfo = { name: 'test', version: '1' };
  const begun = await send('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo });
  await begun.text();
  const session = begun.headers.get('mcp-session-id');
  if (!begun.ok || session === null) return undefined;
  const ask = async (method: string, params: object) => {
    const text = await (await send(method, params, { ...version, 'mcp-session-id': session })).text();
    return JSON.parse(text.replace(/^(?:(?:event|id|:).*\n|\n)*data: /, '')) as Answer;
  };
  return {
    tools: async () => ((await ask('tools/list', {})).result?.tools ?? []).map(({ name }) => name),
    async call(name) {
      const { result, error } = await ask('tools/call', { name, arguments: {} });
      return error?.message ?? result?.content?.[0]?.text.trim() ?? '';
    },
  };
}

interface Answer {
  readonly result?: { readonly tools?: { name: string }[]; readonly content?: { text: string }[] };
  readonly error?: { readonly message: string };
}

/** `ploinky ARGS` with a value on standard input. */
async function withInput(place: Place, input: string, ...args: string[]): Promise<void> {
  const { file, args: all, env } = place.start(...args);
  const child = spawn(file, [...all], { env, stdio: ['pipe', 'ignore', 'inherit'] });
  child.stdin.end(`${input}\n`);
  const [exit] = await once(child, 'exit');
  assert.equal(exit, 0, args.join(' '));
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 60_000;
  while (!(await holds())) {
    assert.ok(performance.now() < deadline, 'it never came true');
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}
