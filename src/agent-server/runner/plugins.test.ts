import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openSession, temporaryFolder, testServer, toolCall } from '../testing/harness.ts';

const timeout = 60_000;

/** Saves only in forceSave, as persistence of plugins does; says on stderr and stdout what it must not disturb. */
const store = `
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
export async function getInstance(workspace) {
  const file = workspace.folder + '/store.json';
  const log = (line) => writeFileSync(workspace.folder + '/log', line + '\\n', { flag: 'a' });
  const state = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : { count: 0 };
  return {
    state,
    async forceSave() { log('save'); if (state.count < 0) throw new Error('the disk is full'); writeFileSync(file, JSON.stringify(state)); },
    async shutDown() { log('end'); },
  };
}
export const getAllow = () => () => false;
`;
const counter = `
export const getDependencies = () => ['Store'];
export async function getInstance(workspace) {
  const { state } = workspace.loadPlugin('Store');
  return {
    async add(by, times) {
      console.log('noise'); console.error('noise'); process.stdout.write('noise');
      state.count += by * (times ?? 1);
      return { count: state.count, pid: process.pid };
    },
    async fail() { state.count = 1000; throw new Error('it went wrong'); },
    async wait() { state.count = 2000; await new Promise((resolve) => setTimeout(resolve, 60_000)); },
    nothing() {},
    whole: (input) => input,
  };
}
export const getAllow = () => async (userId, email, method, by) => by !== 13;
`;

const schema = { type: 'object', additionalProperties: true };
const tool = (name: string, more: object = {}) => ({
  name,
  runner: 'plugins',
  command: `Counter.${name}`,
  inputSchema: schema,
  ...more,
});
const tools = [
  tool('add', { args: ['by', 'times'] }),
  tool('fail'),
  tool('wait', { timeoutMs: 1500 }),
  tool('nothing'),
  tool('whole'),
  tool('nope'),
  { ...tool('toString'), name: 'inherited' },
  { ...tool('add', { args: ['by'], prewarm: 1 }), name: 'ready' },
  { ...tool('add'), name: 'elsewhere', env: { PLUGINS_FOLDER: 'missing' } },
  { ...tool('add'), name: 'broken', env: { PLUGINS_FOLDER: 'plugins:more' } },
];

async function start(t: TestContext, files: Record<string, string> = {}) {
  const code = await temporaryFolder(t);
  const all = {
    'plugins/Counter.mjs': counter,
    'plugins/Store.mjs': store,
    'plugins/_helper.mjs': '',
    ...files,
  };
  for (const [path, text] of Object.entries(all)) {
    await mkdir(dirname(join(code, path)), { recursive: true });
    await writeFile(join(code, path), text);
  }
  const env = { PATH: process.env['PATH'] ?? '', WORKSPACE_PATH: code };
  const server = await testServer(t, { code, env, mcp: { tools } });
  const session = { 'mcp-session-id': await openSession(server) };
  const call = async (name: string, args: unknown = {}) => {
    const { result } = (await server.post(toolCall(name, args), session)).json;
    return {
      text: result.content[0]?.text ?? '',
      isError: result['isError'] === true,
      parts: result.content,
    };
  };
  const read = (file: string) => readFile(join(code, file), 'utf8').catch(() => '');
  return { call, read };
}

test('each call is a process of its own that finds what the one before it saved', { timeout }, async (t) => {
  const { call, read } = await start(t);
  const first = JSON.parse((await call('add', { by: 2, times: 3 })).text);
  const second = JSON.parse((await call('add', { by: 1 })).text);
  assert.deepEqual([first.count, second.count], [6, 7]);
  assert.notEqual(first.pid, second.pid);
  assert.equal(await read('log'), 'save\nend\n'.repeat(2));
});

test('a process that waited for its call has read nothing before it', { timeout }, async (t) => {
  const { call } = await start(t);
  await call('ready', { by: 1 });
  await sleep(1500);
  await call('add', { by: 5 });
  assert.equal(JSON.parse((await call('ready', { by: 1 })).text).count, 7);
});

test('only the result is on standard output, and what plugins print is the second part', {
  timeout,
}, async (t) => {
  const { call } = await start(t);
  const { parts } = await call('add', { by: 1 });
  assert.equal(JSON.parse(parts[0]?.text ?? '').count, 1);
  assert.equal(parts[1]?.text.match(/noise/g)?.length, 3);
  assert.equal((await call('nothing')).text, 'null');
  assert.deepEqual(JSON.parse((await call('whole', { a: [1] })).text), { a: [1] });
});

test('allow is asked with the arguments before the method runs', { timeout }, async (t) => {
  const { call, read } = await start(t);
  const refused = await call('add', { by: 13 });
  assert.ok(refused.isError);
  assert.match(refused.text, /may not call add/);
  assert.equal(await read('store.json'), '');
});

test('a method that throws is told in its words; nothing is saved and the plugins are shut down', {
  timeout,
}, async (t) => {
  const { call, read } = await start(t);
  const failed = await call('fail');
  assert.ok(failed.isError);
  assert.match(failed.text, /it went wrong/);
  assert.deepEqual([await read('log'), await read('store.json')], ['end\n', '']);
});

test('a result that cannot be saved is an error', { timeout }, async (t) => {
  const { call, read } = await start(t);
  const failed = await call('add', { by: -1 });
  assert.match(failed.text, /the disk is full/);
  assert.equal(await read('log'), 'save\nend\n');
});

test('the timeout holds for all of it, and lets plugins shut down', { timeout }, async (t) => {
  const { call, read } = await start(t);
  assert.match((await call('wait')).text, /timed out after 1500ms/);
  assert.deepEqual([await read('log'), await read('store.json')], ['end\n', '']);
});

test('a command or a folder that is not there is named', { timeout }, async (t) => {
  const { call } = await start(t, { 'more/Half.mjs': 'export const getInstance = () => ({});' });
  assert.match((await call('nope')).text, /no command Counter\.nope: the plugin has no method nope/);
  assert.match((await call('inherited')).text, /no command Counter\.toString/);
  assert.match((await call('elsewhere')).text, /plugins folder .*missing cannot be read/);
  assert.match((await call('broken')).text, /Half\.mjs: getAllow is not exported/);
});
