import assert from 'node:assert/strict';
import type { FileHandle } from 'node:fs/promises';
import { createServer, get, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { sendRange } from './send-range.ts';

/** More than the sockets between client and server take: a write stays pending while nobody reads. */
const fileBytes = 67_108_864;

/** Sends with a file whose reads are `read`, to a client that reads nothing and goes when it is told to. */
async function sendTo(
  t: TestContext,
  read: (response: ServerResponse, goAway: () => void) => Promise<number>,
): Promise<unknown[]> {
  const unhandled: unknown[] = [];
  const note = (error: unknown) => unhandled.push(error);
  process.on('unhandledRejection', note);
  const ended = Promise.withResolvers<void>();
  const server = createServer((_, response) => {
    const handle = {
      read: async () => {
        return { bytesRead: await read(response, () => client.destroy()) };
      },
    };
    sendRange(handle as unknown as FileHandle, { start: 0, end: fileBytes }, response).then(
      ended.resolve,
      ended.reject,
    );
  });
  t.after(() => {
    process.off('unhandledRejection', note);
    server.closeAllConnections();
    server.close();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const client = get({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' });
  client.on('response', (response) => response.pause().on('error', () => undefined));
  client.on('error', () => undefined);
  await ended.promise;
  // Node tells of a rejection that nobody took once the microtasks are done.
  await sleep(20);
  return unhandled;
}

const partBytes = 65_536;

/** Whether the write before waits for the client, and not only for the next turn. */
async function isHeldUp(response: ServerResponse): Promise<boolean> {
  if (response.writableLength > 0) await sleep(20);
  return response.writableLength > 0;
}

test('a client that goes away while the next part is read ends its download and nothing else', async (t) => {
  const unhandled = await sendTo(t, async (response, goAway) => {
    if (!(await isHeldUp(response))) return partBytes;
    const closed = new Promise((resolve) => response.once('close', resolve));
    goAway();
    await closed;
    await sleep(20);
    return partBytes;
  });
  assert.deepEqual(unhandled, []);
});

test('a file that gets shorter while a part is on its way ends its download and nothing else', async (t) => {
  const unhandled = await sendTo(t, async (response) => ((await isHeldUp(response)) ? 0 : partBytes));
  assert.deepEqual(unhandled, []);
});
