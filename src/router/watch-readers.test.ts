import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { type TestContext, test } from 'node:test';
import { createFakeClock, until } from '#test/fixtures/fake-clock.ts';
import { writeJsonText } from './mcp/answer.ts';
import { watchReaders } from './watch-readers.ts';

const bounded = { timeout: 20_000 };

const long = 'x'.repeat(50_000_000);
const writeAtOnce = (response: ServerResponse): unknown => response.end(long);
const writeAsRouter = (response: ServerResponse): void => writeJsonText(response, 200, long);

/** A server whose answer is more than any socket takes, and a client that has asked and not read. */
async function start(t: TestContext, watched: boolean, write = writeAtOnce) {
  const clock = createFakeClock();
  const server = createServer((_, response) => write(response));
  if (watched) watchReaders(server, clock, 1_000);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  client.pause();
  client.on('error', () => undefined);
  const [socket] = await once(server, 'connection');
  t.after(() => {
    client.destroy();
    server.closeAllConnections();
    server.close();
  });
  client.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  await until(() => socket.writableLength > 0, 'the answer to wait for its reader');
  return { clock, client, socket };
}

async function wait(clock: ReturnType<typeof createFakeClock>, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 250) await clock.advance(250);
}

test(
  'a client that takes nothing of an answer is cut off, and what it was given is freed',
  bounded,
  async (t) => {
    const { clock, socket } = await start(t, true);
    await wait(clock, 1_000);
    assert.equal(socket.destroyed, false);
    await wait(clock, 500);
    assert.equal(socket.destroyed, true);
  },
);

test('a client that reads is left alone, and so is one that nobody watches', bounded, async (t) => {
  const reading = await start(t, true);
  reading.client.resume();
  await until(() => reading.socket.writableLength === 0, 'the answer to be read');
  await wait(reading.clock, 5_000);
  assert.equal(reading.socket.destroyed, false);
  const unwatched = await start(t, false);
  await wait(unwatched.clock, 5_000);
  assert.equal(unwatched.socket.destroyed, false);
});

test('a client that reads slowly but on and on gets the whole of a long answer', bounded, async (t) => {
  const { clock, client } = await start(t, true, writeAsRouter);
  let total = 0;
  let pauseAt = 5_000_000;
  for await (const part of client as AsyncIterable<Buffer>) {
    total += part.length;
    if (total > long.length) break;
    if (total < pauseAt) continue;
    pauseAt += 5_000_000;
    await wait(clock, 500);
  }
  assert.ok(total > long.length, `${total}`);
});

test('a client that reads a part of a long answer and no more is cut off', bounded, async (t) => {
  const { clock, client, socket } = await start(t, true, writeAsRouter);
  await once(client, 'readable');
  client.read();
  await wait(clock, 2_000);
  assert.equal(socket.destroyed, true);
});
