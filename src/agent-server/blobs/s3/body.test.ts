import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, get, type IncomingMessage } from 'node:http';
import { type TestContext, test } from 'node:test';
import { systemClock } from '#kit/clock.ts';
import { partsOf } from './body.ts';

async function answer(t: TestContext, write: (part: (text: string) => void, end: () => void) => void) {
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-length': 6 });
    write(
      (text) => response.write(text),
      () => response.destroy(),
    );
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as { port: number };
  const outgoing = get({ port, host: '127.0.0.1', agent: false }).on('error', () => undefined);
  const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage];
  return incoming;
}

async function textOf(incoming: IncomingMessage, idleMs: number): Promise<string> {
  let text = '';
  for await (const part of partsOf(incoming, systemClock, idleMs)) text += part;
  return text;
}

const bounded = { timeout: 10_000 };

test('a body that comes slowly comes whole', bounded, async (t) => {
  const incoming = await answer(t, (part) => {
    part('abc');
    setTimeout(() => part('def'), 100);
  });
  assert.equal(await textOf(incoming, 5000), 'abcdef');
});

test('a body that falls silent, or breaks off, is an error of the store', bounded, async (t) => {
  const silent = await answer(t, (part) => part('abc'));
  await assert.rejects(textOf(silent, 200), { code: 'StoreFailed', message: /silent/ });
  assert.equal(silent.destroyed, true);
  const broken = await answer(t, (part, end) => {
    part('abc');
    setTimeout(end, 50);
  });
  await assert.rejects(textOf(broken, 5000), { code: 'StoreFailed' });
});
