import assert from 'node:assert/strict';
import { type ChildProcess, execFile, type StdioOptions, spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { openForwards } from '#agent-server/process/forward.ts';
import {
  eventually,
  spawnerCommand,
  temporaryFolder,
  testConfig,
  testPath,
} from '#agent-server/testing/harness.ts';
import { silentLog } from '#kit/log.ts';

const timeout = 60_000;
const main = spawnerCommand[1] ?? '';
const checkout = fileURLToPath(new URL('../../..', import.meta.url));

/** A server that answers each connection with what it read up to the first empty line, then echoes. */
async function target(t: TestContext, path: string): Promise<string[]> {
  const heads: string[] = [];
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.setEncoding('latin1');
    let read = '';
    socket.on('data', (chunk) => {
      read += chunk;
      if (heads.length === 0 && read.includes('\r\n\r\n')) heads.push(read);
      socket.write(chunk);
    });
    socket.on('end', () => socket.end('bye'));
    socket.on('error', () => undefined);
  });
  await new Promise<void>((resolve) => server.listen(path, () => resolve()));
  t.after(() => server.close());
  return heads;
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

function exchange(port: number, ...pieces: string[]): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  for (const piece of pieces) socket.write(piece);
  socket.end();
  return text(socket);
}

test('a forward passes bytes both ways, half-closed too', { timeout }, async (t) => {
  const path = join(await temporaryFolder(t), 'target.sock');
  await target(t, path);
  const listen = await freePort();
  t.after((await openForwards([{ listen, target: `unix:${path}` }], silentLog)).close);
  assert.equal(await exchange(listen, 'hello'), 'hellobye');
});

test('a proxy forward puts its credential into the first head, in place of any that is there', {
  timeout,
}, async (t) => {
  const path = join(await temporaryFolder(t), 'proxy.sock');
  const heads = await target(t, path);
  const listen = await freePort();
  const forward = { listen, target: `unix:${path}`, proxyAuthorization: 'Basic QQ==' };
  t.after((await openForwards([forward], silentLog)).close);
  await exchange(
    listen,
    'CONNECT a:443 HTTP/1.1\r\nProxy-',
    'Authorization: Basic FAKE\r\nHost: a\r\n\r',
    '\nProxy-Authorization: body',
  );
  assert.deepEqual(heads, [
    'CONNECT a:443 HTTP/1.1\r\nProxy-Authorization: Basic QQ==\r\nHost: a\r\n\r\nProxy-Authorization: body',
  ]);
  assert.equal(await exchange(listen, 'x'.repeat(20_000)).catch(() => ''), '');
});

test('a forward without a target behind it closes the connection; a taken port is an error', {
  timeout,
}, async (t) => {
  const listen = await freePort();
  t.after((await openForwards([{ listen, target: 'unix:/nope' }], silentLog)).close);
  assert.equal(await exchange(listen, 'x').catch(() => ''), '');
  await assert.rejects(
    openForwards([{ listen, target: 'unix:/nope' }], silentLog),
    new RegExp(`Port ${listen}`),
  );
});

interface Run {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the program with the configuration on descriptor 5. */
async function run(args: string[], config: unknown, program = main): Promise<Run> {
  const child = spawn(process.execPath, [program, ...args], {
    env: { SECRET: 'x' },
    stdio: ['ignore', 'pipe', 'pipe', 'ignore', 'ignore', 'pipe'],
  });
  giveConfig(child, config);
  const [stdout, stderr, code] = await Promise.all([
    text(child.stdout as never),
    text(child.stderr as never),
    new Promise<number | null>((resolve) => child.once('exit', resolve)),
  ]);
  return { code, stdout, stderr };
}

test('exec runs the command with the environment of the configuration, its forwards open, and ends with its code', {
  timeout,
}, async (t) => {
  const folder = await temporaryFolder(t);
  const path = join(folder, 'target.sock');
  await target(t, path);
  const listen = await freePort();
  const config = testConfig(folder, {
    env: { PATH: testPath, A: '1' },
    forwards: [{ listen, target: `unix:${path}` }],
  });
  const script = `env; exec ${process.execPath} -e 'const s=require("net").connect(${listen},"127.0.0.1",()=>s.end("hi"));s.pipe(process.stdout);s.on("close",()=>process.exit(7))'`;
  const outcome = await run(['exec', '--config-fd', '5', '--', '/bin/sh', '-c', script], config);
  assert.equal(outcome.code, 7);
  assert.match(outcome.stdout, /^A=1$/m);
  assert.doesNotMatch(outcome.stdout, /SECRET/);
  assert.match(outcome.stdout, /hi/);
  assert.equal((await run(['exec', '--config-fd', '5', '--', '/nope'], config)).code, 127);
});

test('a wrong command line ends with code 2 and says how it should be, a wrong configuration with 1', {
  timeout,
}, async () => {
  const usage = await run(['--wat'], {});
  assert.deepEqual(
    [usage.code, /unknown argument/.test(usage.stderr), /usage: agent-server/.test(usage.stderr)],
    [2, true, true],
  );
  const config = await run(['--config-fd', '5', '--listen', '127.0.0.1:0'], { version: 2 });
  assert.deepEqual([config.code, /configuration is wrong: version/.test(config.stderr)], [1, true]);
});

/** Node hands a listening server's descriptor to a child only by its number. */
function descriptorOf(server: Server): number {
  return (server as unknown as { _handle: { fd: number } })._handle.fd;
}

function launch(args: string[], stdio: unknown[], env: Record<string, string> = {}): ChildProcess {
  return spawn(process.execPath, args, { env, stdio: stdio as StdioOptions });
}

/** Through descriptor 5. */
function giveConfig(child: ChildProcess, config: unknown): void {
  const pipe = (child.stdio as unknown as (Writable | null)[])[5];
  // A child that ends at once leaves it unread.
  pipe?.on('error', () => undefined);
  pipe?.end(JSON.stringify(config));
}

/** A listening Unix socket whose descriptor can be given to a child: as a shim makes it. */
async function listeningSocket(folder: string): Promise<{ server: Server; path: string }> {
  const path = join(folder, 'agent.sock');
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(join(folder, 'temporary.sock'), () => resolve()));
  await rename(join(folder, 'temporary.sock'), path);
  return { server, path };
}

test('the bundle serves on an inherited socket, tools do not inherit it, and SIGTERM ends everything', {
  timeout,
}, async (t) => {
  const folder = await temporaryFolder(t);
  await promisify(execFile)(process.execPath, [join(checkout, 'scripts/build.ts')]);
  const bundle = join(checkout, 'dist/agent-server.mjs');
  const { server, path } = await listeningSocket(folder);
  const command = ['/bin/sh', '-c', 'ls -l /proc/self/fd > main-fds; sleep 1000'];
  const mcp = { tools: [{ name: 'fds', command: 'ls -l /proc/self/fd' }] };
  const config = testConfig(folder, { mcp, command });
  const child = launch(
    [bundle, '--config-fd', '5', '--listen-fd', '6', '--no-tokens'],
    ['ignore', 'ignore', 'inherit', 'ignore', 'ignore', 'pipe', descriptorOf(server)],
  );
  t.after(() => child.kill('SIGKILL'));
  t.after(() => server.close());
  giveConfig(child, config);
  server.close();
  await eventually('it answers', async () => (await ask(path, 'GET', '/health')).includes('"ok":true'));
  const answer = await ask(path, 'POST', '/mcp', {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: {
      name: 'fds',
      _meta: {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientCapabilities': {},
      },
    },
  });
  const descriptors = (listing: string) =>
    [...listing.matchAll(/ (\d+) -> (\S+)/g)].map((match) => [
      match[1],
      match[2]?.replace(/:.*|\/\d+\/fd/, ''),
    ]);
  assert.deepEqual(descriptors(answer.replaceAll('\\n', '\n')).slice(0, 4), [
    ['0', 'socket'],
    ['1', 'socket'],
    ['2', 'socket'],
    ['3', 'socket'],
  ]);
  assert.equal(descriptors(answer.replaceAll('\\n', '\n')).length, 5);
  await eventually(
    'the main process has written',
    async () => (await readFile(join(folder, 'main-fds'), 'utf8').catch(() => '')) !== '',
  );
  const own = descriptors(await readFile(join(folder, 'main-fds'), 'utf8'));
  assert.deepEqual(
    own.filter(([number, what]) => Number(number) > 2 && what === 'socket'),
    [],
  );
  const family = descendants(child.pid ?? 0);
  assert.ok(family.length >= 3);
  child.kill('SIGTERM');
  const code = await new Promise((resolve) => child.once('exit', resolve));
  assert.equal(code, 0);
  await eventually('nothing is left', () =>
    family.every((pid) => !readdirSync('/proc').includes(String(pid))),
  );
});

test('kill -9 of the agent-server takes its tools and its main process along', { timeout }, async (t) => {
  const folder = await temporaryFolder(t);
  await writeFile(
    join(folder, 'config.json'),
    JSON.stringify(
      testConfig(folder, { mcp: { tools: [{ name: 'sleeps', command: 'setsid sleep 1000' }] } }),
    ),
  );
  const path = join(folder, 'agent.sock');
  const child = launch(
    [main, '--config-file', join(folder, 'config.json'), '--listen-socket', path, '--no-tokens'],
    ['ignore', 'ignore', 'ignore'],
  );
  t.after(() => child.kill('SIGKILL'));
  await eventually('it answers', async () =>
    (await ask(path, 'GET', '/health').catch(() => '')).includes('"ok":true'),
  );
  void ask(path, 'POST', '/mcp', {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: {
      name: 'sleeps',
      _meta: {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientCapabilities': {},
      },
    },
  }).catch(() => undefined);
  await eventually('the tool runs', () => descendants(child.pid ?? 0).length >= 3);
  const family = descendants(child.pid ?? 0);
  child.kill('SIGKILL');
  await eventually('nothing is left', () =>
    family.every((pid) => !readdirSync('/proc').includes(String(pid))),
  );
});

function ask(
  path: string,
  method: string,
  url: string,
  message?: { jsonrpc: string; id: number; method: string; params: { name?: string; _meta?: unknown } },
): Promise<string> {
  const body = message === undefined ? '' : JSON.stringify(message);
  const headers = [
    `${method} ${url} HTTP/1.1`,
    'Host: agent',
    'Connection: close',
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...(message === undefined
      ? []
      : [
          'MCP-Protocol-Version: 2026-07-28',
          `Mcp-Method: ${message.method}`,
          `Mcp-Name: ${message.params.name}`,
        ]),
  ];
  const socket = connect(path);
  socket.write(`${headers.join('\r\n')}\r\n\r\n${body}`);
  return text(socket);
}

function descendants(root: number): number[] {
  const { execFileSync } = process.getBuiltinModule('node:child_process');
  const pairs = execFileSync('ps', ['-eo', 'pid=,ppid='], { encoding: 'utf8' })
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number));
  const found = new Set([root]);
  for (let before = 0; before !== found.size; ) {
    before = found.size;
    for (const [pid = 0, parent = 0] of pairs) if (found.has(parent)) found.add(pid);
  }
  return [...found].filter((pid) => pid !== root);
}
