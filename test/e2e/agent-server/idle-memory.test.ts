import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { openSession } from '#agent-server/testing/harness.ts';

const program = fileURLToPath(new URL('./idle-program.ts', import.meta.url));
const flags = ['--expose-gc', '--max-semi-space-size=1'];

interface Memory {
  readonly rss: number;
  readonly heapUsed: number;
  readonly external: number;
}

interface Measured {
  readonly url: string;
  readonly host: string;
  readonly port: number;
  memory(): Promise<Memory>;
}

async function start(t: TestContext): Promise<Measured> {
  const child = spawn(process.execPath, [...flags, program], { stdio: ['pipe', 'pipe', 'inherit'] });
  t.after(async () => {
    child.stdin.end();
    if (child.exitCode === null) await once(child, 'exit');
  });
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const line = async () => String((await lines.next()).value);
  const address = await line();
  const [host = '', port = ''] = address.split(':');
  return {
    url: `http://${address}`,
    host,
    port: Number(port),
    async memory() {
      child.stdin.write('\n');
      return JSON.parse(await line());
    },
  };
}

/** The session's own stream, at so little cost to this process that thousands can be held. */
function openStream({ host, port }: Measured, session: string): Promise<Socket> {
  const head = [
    'GET /mcp HTTP/1.1',
    'host: test',
    'accept: text/event-stream',
    `mcp-session-id: ${session}`,
    'mcp-protocol-version: 2025-11-25',
  ];
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port }, () => socket.write(`${head.join('\r\n')}\r\n\r\n`));
    socket.once('data', (chunk) =>
      /^HTTP\/1.1 200 /.test(chunk.toString()) ? resolve(socket) : reject(new Error(chunk.toString())),
    );
    socket.once('error', reject);
  });
}

async function inTurns<T>(count: number, make: (index: number) => Promise<T>): Promise<T[]> {
  const made: T[] = [];
  while (made.length < count) {
    const next = Array.from({ length: Math.min(50, count - made.length) }, (_, i) => make(made.length + i));
    made.push(...(await Promise.all(next)));
  }
  return made;
}

test('an idle session, and a stream of it, take at most 16 KiB each', { timeout: 180_000 }, async (t) => {
  const server = await start(t);
  const client = {
    post: async (message: unknown) => {
      const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
      const body = JSON.stringify(message);
      const answer = await fetch(`${server.url}/mcp`, { method: 'POST', headers, body });
      const session = { 'mcp-session-id': String(answer.headers.get('mcp-session-id')) };
      return { status: answer.status, headers: session, text: await answer.text(), json: {} as never };
    },
  };
  const sockets: Socket[] = [];
  t.after(() => {
    for (const socket of sockets) socket.destroy();
  });
  const open = async (ids: readonly string[]) =>
    sockets.push(...(await inTurns(ids.length, (index) => openStream(server, ids[index] ?? ''))));
  await open(await inTurns(500, () => openSession(client)));
  const count = 2000;
  const empty = await server.memory();
  const sessions = await inTurns(count, () => openSession(client));
  const idle = await server.memory();
  await open(sessions);
  const listening = await server.memory();
  const each = (from: Memory, to: Memory, what: keyof Memory) => (to[what] - from[what]) / count / 1024;
  const [session, stream] = [
    { rss: each(empty, idle, 'rss'), heap: each(empty, idle, 'heapUsed') },
    { rss: each(idle, listening, 'rss'), heap: each(idle, listening, 'heapUsed') },
  ];
  t.diagnostic(`KiB of a session and of a stream: ${JSON.stringify([session, stream])}`);
  assert.ok(session.heap <= 2 && stream.heap <= 10);
  assert.ok(session.rss + stream.rss <= 32);
});
