import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { type TestContext, test } from 'node:test';
import { systemClock } from '#kit/clock.ts';
import { silentLog } from '#kit/log.ts';
import { createGuard } from '../mcp/guard.ts';
import { eventually } from '../testing/harness.ts';
import { createApp } from './app.ts';
import { createChanges, type StateLine } from './changes.ts';

const timeout = 30_000;
const state: StateLine = {
  type: 'state',
  ...{ ready: true, reason: 'Ready', message: '', toolCount: 0, toolsDigest: '' },
  ...{ lists: { tools: '', resources: '', prompts: '' }, idle: false },
};

async function serve(t: TestContext, maxUnreadBytes: number) {
  const changes = createChanges({
    ...{ clock: systemClock, guard: createGuard(undefined), instance: 'i', maxStreams: 8, maxUnreadBytes },
    state: () => state,
  });
  const exact = new Map([['/changes', changes.handler]]);
  const server = createServer(createApp({ exact, prefixes: [] }, silentLog));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    void changes.close();
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  /** Follows the changes; one that does not read takes what the machine holds for it and no more. */
  function follow(reads: boolean) {
    const socket = connect(port, '127.0.0.1');
    t.after(() => socket.destroy());
    socket.on('error', () => undefined);
    socket.write('GET /changes HTTP/1.1\r\nhost: x\r\n\r\n');
    const heard = { text: '', ended: false };
    socket.setEncoding('utf8').once('close', () => {
      heard.ended = true;
    });
    if (reads) socket.on('data', (text: string) => (heard.text += text));
    return heard;
  }
  return { changes, follow };
}

test('a reader that does not read is cut off, and the others hear on', { timeout }, async (t) => {
  const { changes, follow } = await serve(t, 1_000_000);
  follow(false);
  const reader = follow(true);
  await eventually('both listen', () => changes.size === 2);
  const line = { type: 'hello', version: 'x'.repeat(60_000), instance: 'i' } as const;
  let told = 0;
  await eventually('one is left', () => {
    for (let count = 0; count < 5; count += 1, told += 1) changes.tell(line);
    return changes.size === 1;
  });
  await eventually('all was heard', () => reader.text.split('"hello"').length === told + 2);
  assert.equal(reader.ended, false);
});

test('what was told before the end arrives', { timeout }, async (t) => {
  const { changes, follow } = await serve(t, 16_000_000);
  const reader = follow(true);
  await eventually('it listens', () => changes.size === 1);
  for (let count = 0; count < 100; count += 1)
    changes.tell({ type: 'hello', version: 'x'.repeat(60_000), instance: 'i' });
  await changes.close();
  assert.equal(changes.size, 0);
  await eventually('all was heard', () => reader.text.split('"hello"').length === 102);
});
