import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { systemClock } from '#kit/clock.ts';
import { silentLog } from '#kit/log.ts';
import { systemRandom } from '#kit/random.ts';
import type { RouterLimits } from './limits.ts';
import { type Listeners, type RunningRouter, startRouter } from './start.ts';
import { startFakeAgent } from './testing/fake-agent.ts';
import { agentOf, editableTables, master } from './testing/harness.ts';

const bounded = { timeout: 30_000 };
const masters = [master];

async function start(
  t: TestContext,
  limits: Partial<RouterLimits> = {},
  listeners?: Listeners,
): Promise<RunningRouter & { called(tool: string): Promise<void> }> {
  const agent = await startFakeAgent({
    name: 'demo',
    master,
    tools: [{ name: 'forever' }, { name: 'progress' }, { name: 'echo' }],
  });
  const common = { clock: systemClock, random: systemRandom, log: silentLog, version: '0', limits };
  const router = await startRouter(
    { ...common, tables: editableTables([agentOf(agent)]), keys: { current: () => masters } },
    listeners ?? { public: { host: '127.0.0.1', port: 0 } },
  );
  let closed = false;
  t.after(async () => {
    if (!closed) await router.close();
    await agent.stop();
  });
  return {
    ...router,
    /** Until the agent has the call. */
    async called(tool) {
      const isThere = () => agent.seen.some(({ body }) => body.includes(tool));
      while (!isThere()) await new Promise((resolve) => setTimeout(resolve, 5));
    },
    close: async () => {
      closed = true;
      await router.close();
    },
  };
}

function ask(
  target: { port?: number; socketPath?: string },
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const options = {
      ...target,
      host: '127.0.0.1',
      path,
      method: body === undefined ? 'GET' : 'POST',
      agent: false as const,
    };
    const sent = httpRequest(
      {
        ...options,
        headers: { 'content-type': 'application/json', host: `127.0.0.1:${target.port ?? 8080}`, ...headers },
      },
      (answer) => {
        let text = '';
        answer.on('data', (chunk) => {
          text += chunk;
        });
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text }));
        answer.on('error', reject);
      },
    );
    sent.on('error', reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

test('it serves on a socket that it inherited as a descriptor', bounded, async () => {
  const holder = createServer();
  holder.listen(0, '127.0.0.1');
  await once(holder, 'listening');
  const { port } = holder.address() as AddressInfo;
  const { fd } = (holder as unknown as { _handle: { fd: number } })._handle;
  const program = join(import.meta.dirname, 'testing/serve-descriptor.ts');
  const child = spawn(process.execPath, [program], { stdio: ['pipe', 'pipe', 'inherit', fd] });
  holder.close();
  assert.ok(child.stdin !== null && child.stdout !== null);
  const [said] = await once(child.stdout, 'data');
  assert.equal(Number(said), port);
  assert.equal((await ask({ port }, '/health')).status, 200);
  child.stdin.end();
  await once(child, 'exit');
});

test(
  'what comes through the agents’ socket is marked, may use any loopback port, and gets no metrics',
  bounded,
  async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'router-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const socketPath = join(folder, 'r.sock');
    const router = await start(t, {}, { public: { host: '127.0.0.1', port: 0 }, agents: socketPath });
    assert.equal(statSync(socketPath).mode & 0o777, 0o600);
    const inside = await ask({ socketPath }, '/mcp', { command: 'tool', tool: 'echo', text: 'x' });
    assert.equal(inside.status, 200);
    const { agents } = { agents: router.services.tables.current() };
    assert.equal(agents.targets.size, 1);
    assert.equal((await ask({ socketPath }, '/metrics')).status, 404);
    assert.equal((await ask({ port: router.port }, '/metrics')).status, 200);
    assert.equal((await ask({ socketPath }, '/health', undefined, { host: 'evil.example.com' })).status, 403);
  },
);

test('the loopback counts only at the port that it really has', bounded, async (t) => {
  const router = await start(t);
  assert.equal((await ask({ port: router.port }, '/health')).status, 200);
  assert.equal((await ask({ port: router.port }, '/health', undefined, { host: '127.0.0.1:1' })).status, 403);
});

test('a shutdown takes nothing new, lets a running call end, then is over', bounded, async (t) => {
  const router = await start(t);
  const running = ask({ port: router.port }, '/mcp', { command: 'tool', tool: 'progress' });
  await router.called('progress');
  const closed = router.close();
  assert.equal((await running).status, 200);
  await closed;
  await assert.rejects(ask({ port: router.port }, '/health'), /ECONNREFUSED/);
});

test('a call that does not end is cut when the drain time is over', bounded, async (t) => {
  const router = await start(t, { drainMs: 100 });
  const hanging = ask({ port: router.port }, '/mcp', { command: 'tool', tool: 'forever' });
  const cut = assert.rejects(hanging);
  await new Promise((resolve) => setTimeout(resolve, 50));
  const started = performance.now();
  await router.close();
  assert.ok(performance.now() - started < 5_000);
  await cut;
});

/** Resolves when the server ends the connection; gives what it said. */
async function untilClosed(socket: Socket): Promise<string> {
  let said = '';
  socket.on('data', (chunk) => {
    said += chunk;
  });
  socket.on('error', () => undefined);
  if (!socket.destroyed) await once(socket, 'close');
  return said;
}

test('clients that send headers or a body too slowly are cut off', bounded, async (t) => {
  const router = await start(t, { headersTimeoutMs: 200, bodyTimeoutMs: 200 });
  const host = `Host: 127.0.0.1:${router.port}\r\n`;
  const slowHeaders = connect(router.port, '127.0.0.1');
  slowHeaders.write(`GET / HTTP/1.1\r\n${host}`);
  const slowBody = connect(router.port, '127.0.0.1');
  slowBody.write(
    `POST /mcp HTTP/1.1\r\n${host}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{`,
  );
  const [headers] = await Promise.all([untilClosed(slowHeaders), untilClosed(slowBody)]);
  assert.match(headers, /^(HTTP\/1\.1 4\d\d|$)/);
});

test(
  'requests that two readers could read differently are refused and the connection closed',
  bounded,
  async (t) => {
    const router = await start(t);
    const host = `Host: 127.0.0.1:${router.port}\r\n`;
    const attacks = [
      `POST /mcp HTTP/1.1\r\n${host}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      `POST /mcp HTTP/1.1\r\n${host}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello`,
      `POST /mcp HTTP/1.1\r\n${host}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n`,
      `GET / HTTP/1.1\r\n${host}X: a\r\n b\r\n\r\n`,
      `GET / HTTP/1.1\n${host}\n\n`,
      'GET / HTTP/1.1\r\n\r\n',
    ];
    for (const attack of attacks) {
      const socket = connect(router.port, '127.0.0.1');
      socket.write(attack);
      const said = await untilClosed(socket);
      assert.match(said, /^HTTP\/1\.1 (400|403)/, JSON.stringify(attack));
    }
  },
);

test('an upgrade is answered and closed', bounded, async (t) => {
  const router = await start(t);
  const socket = connect(router.port, '127.0.0.1');
  socket.write(
    `GET / HTTP/1.1\r\nHost: 127.0.0.1:${router.port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
  );
  assert.match(await untilClosed(socket), /^HTTP\/1\.1 501/);
});

/** Takes what the server says, but never closes its own side. */
function stubborn(router: RunningRouter, text: string): Socket {
  const socket = connect({ port: router.port, host: '127.0.0.1', allowHalfOpen: true });
  socket.on('error', () => undefined).resume();
  socket.write(text);
  return socket;
}

for (const [what, text] of [
  ['bad bytes', 'nonsense\r\n\r\n'],
  ['half of a request', 'GET / HTTP/1.1\r\nHost: '],
  ['an upgrade', 'GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'],
] as const) {
  test(`a client that sends ${what} and never closes keeps no connection`, bounded, async (t) => {
    const router = await start(t, { connections: 1, headersTimeoutMs: 200 });
    const socket = stubborn(router, text);
    t.after(() => socket.destroy());
    await once(socket, 'end');
    const deadline = performance.now() + 5_000;
    let status = 0;
    while (status !== 200 && performance.now() < deadline) {
      await new Promise((resolve) => setTimeout(resolve, 100));
      status = (await ask({ port: router.port }, '/health').catch(() => ({ status: 0 }))).status;
    }
    assert.equal(status, 200);
  });
}

test('bad bytes behind a running answer put nothing into the middle of it', bounded, async (t) => {
  const router = await start(t);
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } };
  const opened = await fetch(`http://127.0.0.1:${router.port}/mcp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }),
  });
  await opened.text();
  const session = opened.headers.get('mcp-session-id');
  assert.ok(session !== null);
  const socket = connect(router.port, '127.0.0.1');
  const said = untilClosed(socket);
  socket.write(
    `GET /mcp HTTP/1.1\r\nHost: 127.0.0.1:${router.port}\r\nAccept: text/event-stream\r\nMcp-Session-Id: ${session}\r\n\r\n`,
  );
  await once(socket, 'data');
  socket.write('nonsense\r\n\r\n');
  const text = await said;
  assert.match(text, /^HTTP\/1\.1 200/);
  assert.equal(text.match(/HTTP\/1\.1/g)?.length, 1, text);
});
