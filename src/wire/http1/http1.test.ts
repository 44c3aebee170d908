import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { type TestContext, test } from 'node:test';
import fc from 'fast-check';
import { systemClock } from '#kit/clock.ts';
import { createConnectionPool } from './connection-pool.ts';
import type { HttpFlow, HttpHandler, HttpHeaders, HttpRequest } from './message.ts';

const bounded = { timeout: 30_000 };

/** A peer that a test scripts byte by byte. */
async function startPeer(t: TestContext, onBytes: (socket: Socket, text: string, nth: number) => void) {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    const nth = sockets.push(socket);
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => onBytes(socket, chunk.toString('latin1'), nth));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const pool = createConnectionPool({
    connections: 2,
    clock: systemClock,
    async connect() {
      const socket = connect(port, '127.0.0.1');
      await once(socket, 'connect');
      return socket;
    },
  });
  t.after(() => {
    pool.destroy();
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { pool, sockets };
}

const get: HttpRequest = { method: 'GET', path: '/x', headers: [], body: null, silenceMs: 10_000 };

interface Told {
  status: number;
  headers: HttpHeaders;
  text: string;
  interim: number;
  flow: HttpFlow | undefined;
}

type Pool = Awaited<ReturnType<typeof startPeer>>['pool'];

function ask(pool: Pool, request: Partial<HttpRequest> = {}, more: Partial<HttpHandler> = {}) {
  const told: Told = { status: 0, headers: {}, text: '', interim: 0, flow: undefined };
  const done = new Promise<Told>((resolve, reject) => {
    pool.send(
      { ...get, ...request },
      {
        started(flow) {
          told.flow = flow;
        },
        interim() {
          told.interim += 1;
        },
        head(status, headers) {
          Object.assign(told, { status, headers });
        },
        data(chunk) {
          told.text += chunk.toString('latin1');
          return true;
        },
        ended: () => resolve(told),
        failed: reject,
        ...more,
      },
    );
  });
  return { told, done };
}

const good: Record<string, { said: string; text: string }> = {
  'a length': { said: 'HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc', text: 'abc' },
  'no body': { said: 'HTTP/1.1 204 No Content\r\n\r\n', text: '' },
  chunks: {
    said: 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;x=y\r\nab\r\n1\r\nc\r\n0\r\nTrailer: t\r\n\r\n',
    text: 'abc',
  },
  'interim answers': {
    said: 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc',
    text: 'abc',
  },
};
for (const [what, { said, text }] of Object.entries(good)) {
  test(
    `an answer with ${what} is read however it is cut, and its connection used again`,
    bounded,
    async (t) => {
      let cuts: readonly number[] = [];
      const { pool, sockets } = await startPeer(t, async (socket) => {
        let at = 0;
        for (const cut of [...cuts, said.length]) {
          socket.write(said.slice(at, cut), 'latin1');
          at = cut;
          await new Promise(setImmediate);
        }
      });
      const places = fc.uniqueArray(fc.integer({ min: 1, max: said.length - 1 }), { maxLength: 6 });
      const property = fc.asyncProperty(places, async (chosen) => {
        cuts = chosen.sort((left, right) => left - right);
        const answer = await ask(pool).done;
        assert.equal(answer.text, text);
        assert.equal(answer.interim, what === 'interim answers' ? 2 : 0);
      });
      await fc.assert(property, { numRuns: 60 });
      assert.equal(sockets.length, 1);
    },
  );
}

test(
  'an answer without a length ends with its connection, and the next request takes another',
  bounded,
  async (t) => {
    const { pool, sockets } = await startPeer(t, (socket) =>
      socket.end('HTTP/1.1 200 OK\r\nA: 1\r\nA: 2\r\n\r\nabc'),
    );
    const answer = await ask(pool).done;
    assert.deepEqual([answer.text, answer.headers['a']], ['abc', ['1', '2']]);
    await ask(pool).done;
    assert.equal(sockets.length, 2);
  },
);

const bad: Record<string, string> = {
  'two lengths': 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\na',
  'a length beside chunks':
    'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  'a length that is none': 'HTTP/1.1 200 OK\r\nContent-Length: 1,1\r\n\r\na',
  'another coding': 'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n',
  'a folded line': 'HTTP/1.1 200 OK\r\nA: 1\r\n b\r\nContent-Length: 0\r\n\r\n',
  'a space before the colon': 'HTTP/1.1 200 OK\r\nContent-Length : 0\r\n\r\n',
  'a bare line feed': 'HTTP/1.1 200 OK\r\nA: 1\nContent-Length: 0\r\n\r\n',
  'a control character': 'HTTP/1.1 200 OK\r\nA: \u0000\r\nContent-Length: 0\r\n\r\n',
  'another protocol': 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n',
  'bytes behind its end': 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nabHTTP/1.1 200 OK\r\n\r\n',
  'a chunk with a wrong size': 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n',
  'a size that is no number': 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n+1\r\na\r\n0\r\n\r\n',
  'no HTTP': 'SSH-2.0-x\r\n\r\n',
  'a head without end': `HTTP/1.1 200 OK\r\nA: ${'a'.repeat(20_000)}`,
};
for (const [what, said] of Object.entries(bad)) {
  test(`an answer with ${what} is refused and its connection closed`, bounded, async (t) => {
    const { pool, sockets } = await startPeer(t, (socket) => socket.write(said, 'latin1'));
    const closed = new Promise((resolve) => {
      const look = () => (sockets[0] === undefined ? setImmediate(look) : sockets[0].once('close', resolve));
      look();
    });
    await assert.rejects(ask(pool).done, { code: 'Malformed' });
    await closed;
  });
}

test('an answer that breaks off is no whole one, and a silent peer is given up', bounded, async (t) => {
  const { pool } = await startPeer(t, (socket, text) => {
    if (text.startsWith('GET /x')) socket.end('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc');
    else if (text.startsWith('GET /half')) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc');
  });
  await assert.rejects(ask(pool).done, { code: 'Broken' });
  await assert.rejects(ask(pool, { path: '/never', silenceMs: 60 }).done, { code: 'Silent' });
  await assert.rejects(ask(pool, { path: '/half', silenceMs: 60 }).done, { code: 'Silent' });
});

test('what would be another request than the one that is meant is not sent', bounded, async (t) => {
  const seen: string[] = [];
  const { pool } = await startPeer(t, (socket, text) => {
    seen.push(text);
    socket.write('HTTP/1.1 204 No Content\r\n\r\n');
  });
  const wrong: Partial<HttpRequest>[] = [
    { method: 'GET /y' },
    { path: '/a b' },
    { path: '/a\r\nb' },
    { headers: ['a', 'b\r\nc: d'] },
    { headers: ['a b', 'c'] },
    { headers: ['transfer-encoding', 'chunked'] },
    { headers: ['connection', 'close'] },
  ];
  for (const request of wrong) await assert.rejects(ask(pool, request).done, { code: 'Unsendable' });
  assert.deepEqual(seen, []);
  await ask(pool, { method: 'POST', headers: ['a', '\u00e4'], body: 'ä€' }).done;
  const [sent = ''] = seen;
  assert.match(
    sent,
    /^POST \/x HTTP\/1\.1\r\nhost: agent\r\nconnection: keep-alive\r\na: \u00e4\r\ncontent-length: 5\r\n\r\n/,
  );
  assert.equal(Buffer.from(sent.slice(-5), 'latin1').toString(), 'ä€');
});

test(
  'a body is streamed in chunks, or by the length that it has; a wrong one is cut off',
  bounded,
  async (t) => {
    let got = '';
    const { pool } = await startPeer(t, (socket, text) => {
      got += text;
      if (got.endsWith('0\r\n\r\n') || got.endsWith('abcd')) socket.write('HTTP/1.1 204 No Content\r\n\r\n');
    });
    const stream = () => Readable.from([Buffer.from('ab'), Buffer.from('cd')]);
    await ask(pool, { method: 'POST', body: stream() }).done;
    assert.match(got, /transfer-encoding: chunked\r\n\r\n2\r\nab\r\n2\r\ncd\r\n0\r\n\r\n$/);
    got = '';
    await ask(pool, { method: 'POST', body: stream(), headers: ['content-length', '4'] }).done;
    assert.match(got, /content-length: 4\r\n\r\nabcd$/);
    for (const length of ['3', '5']) {
      got = '';
      const request = { method: 'POST', body: stream(), headers: ['content-length', length] };
      await assert.rejects(ask(pool, request).done, { code: 'Broken' });
    }
  },
);

test('a request waits for a connection no longer than for an answer', bounded, async (t) => {
  const { pool, sockets } = await startPeer(t, () => undefined);
  const held = [ask(pool), ask(pool)];
  for (const { done } of held) done.catch(() => undefined);
  const late = ask(pool, { silenceMs: 60 });
  await assert.rejects(late.done, { code: 'Silent' });
  assert.equal(late.told.flow, undefined, 'it never started');
  assert.equal(sockets.length, 2);
});

test(
  'a request that is taken back is not sent, told nothing, and costs no connection',
  bounded,
  async (t) => {
    const { pool, sockets } = await startPeer(t, () => undefined);
    const held = [ask(pool), ask(pool)];
    const told: string[] = [];
    const gone: HttpHandler = {
      started: () => told.push('started'),
      interim: () => told.push('interim'),
      head: () => told.push('head'),
      data: () => told.push('data') > 0,
      ended: () => told.push('ended'),
      failed: () => told.push('failed'),
    };
    pool.send({ ...get, path: '/gone' }, gone);
    pool.drop(gone);
    while (sockets.length < 2) await new Promise(setImmediate);
    for (const { told, done } of held) {
      done.catch(() => undefined);
      told.flow?.abort();
    }
    for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate);
    assert.deepEqual(told, []);
    assert.equal(sockets.length, 2);
    await pool.close();
  },
);

test('the rest of a body that was answered early is taken and dropped', bounded, async (t) => {
  const { pool, sockets } = await startPeer(t, (socket) => socket.pause());
  let left = 64;
  const body = new Readable({
    read() {
      left -= 1;
      this.push(left < 0 ? null : Buffer.alloc(1024 * 1024));
    },
  });
  const { told, done } = ask(pool, { method: 'POST', body });
  while (!body.isPaused()) await new Promise((resolve) => setTimeout(resolve, 5));
  const ended = once(body, 'end');
  sockets[0]?.write('HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n');
  await done;
  assert.equal(told.status, 413);
  await ended;
});

test('requests beyond the connections wait for one, in order', bounded, async (t) => {
  const held: Socket[] = [];
  const { pool, sockets } = await startPeer(t, (socket) => void held.push(socket));
  const order: number[] = [];
  const asked = [0, 1, 2, 3].map((index) => ask(pool).done.then(() => order.push(index)));
  while (order.length < 4) {
    held.shift()?.write('HTTP/1.1 204 No Content\r\n\r\n');
    await new Promise(setImmediate);
  }
  await Promise.all(asked);
  assert.equal(sockets.length, 2);
  assert.deepEqual([...order].sort(), [0, 1, 2, 3]);
});

test(
  'a connection that ended while it was idle, or said what nobody asked, costs no request',
  bounded,
  async (t) => {
    const ways: readonly ((socket: Socket) => unknown)[] = [
      (socket) => socket.end(),
      (socket) => socket.resetAndDestroy(),
      (socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil'),
    ];
    for (const end of ways) {
      const { pool, sockets } = await startPeer(t, (socket) =>
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood'),
      );
      await ask(pool).done;
      const [first] = sockets;
      assert.ok(first !== undefined);
      end(first);
      for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
      assert.equal((await ask(pool).done).text, 'good');
      assert.equal(sockets.length, 2);
    }
  },
);

test(
  'who wants no more is sent no more until it says so; who goes away ends the connection',
  bounded,
  async (t) => {
    const size = 4 * 1024 * 1024;
    const { pool, sockets } = await startPeer(t, (socket) => {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${size}\r\n\r\n`);
      socket.write(Buffer.alloc(size, 'a'));
    });
    let got = 0;
    let wants = false;
    const slow = ask(
      pool,
      {},
      {
        data(chunk) {
          got += chunk.length;
          return wants;
        },
      },
    );
    while (got === 0) await new Promise(setImmediate);
    for (let turn = 0; turn < 100; turn += 1) await new Promise(setImmediate);
    assert.ok(got <= 256 * 1024, `${got} bytes came`);
    wants = true;
    slow.told.flow?.resume();
    await slow.done;
    assert.equal(got, size);
    const gone = ask(pool, {}, { data: () => true, head: () => gone.told.flow?.abort() });
    await new Promise((resolve) => sockets[0]?.once('close', resolve));
  },
);

test(
  'who goes on late with an answer that has ended lets nothing of the next one through',
  bounded,
  async (t) => {
    const size = 8 * 1024 * 1024;
    const { pool, sockets } = await startPeer(t, (socket, text) => {
      if (text.startsWith('GET /small')) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc');
      else {
        socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${size}\r\n\r\n`);
        socket.write(Buffer.alloc(size, 'a'));
      }
    });
    const first = ask(pool, { path: '/small' }, { data: () => false });
    await first.done;
    let got = 0;
    ask(
      pool,
      { path: '/large' },
      {
        data(chunk) {
          got += chunk.length;
          return false;
        },
      },
    ).done.catch(() => undefined);
    while (got === 0) await new Promise(setImmediate);
    first.told.flow?.resume();
    for (let turn = 0; turn < 1_000; turn += 1) await new Promise(setImmediate);
    assert.equal(sockets.length, 1);
    assert.ok(got <= 256 * 1024, `${got} bytes came`);
  },
);

test('a pool that closes lets what runs and waits end, and takes nothing new', bounded, async (t) => {
  const held: Socket[] = [];
  const { pool } = await startPeer(t, (socket) => void held.push(socket));
  const asked = [ask(pool), ask(pool), ask(pool)];
  while (held.length < 2) await new Promise(setImmediate);
  const closed = pool.close();
  await assert.rejects(ask(pool).done, { code: 'Closed' });
  const answers = Promise.all(asked.map(({ done }) => done));
  let over = false;
  answers.then(() => {
    over = true;
  });
  while (!over) {
    held.shift()?.write('HTTP/1.1 204 No Content\r\n\r\n');
    await new Promise(setImmediate);
  }
  await closed;
});
