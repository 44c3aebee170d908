import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { loopbackConnections } from './loopback.ts';

test('a connection serves calls that follow each other, and is closed by this end before a server would', async (t) => {
  const opened: Socket[] = [];
  const server = createServer({ keepAliveTimeout: 60_000 }, (incoming, response) => {
    setTimeout(() => response.end('done'), incoming.url === '/slow' ? 1_500 : 0);
  });
  server.on('connection', (socket) => opened.push(socket)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const agent = loopbackConnections();
  t.after(() => {
    agent.destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const call = async (path: string) => {
    const [answer] = await once(request({ host: '127.0.0.1', port, path, agent }).end(), 'response');
    return new Response(answer).text();
  };
  assert.equal(await call('/'), 'done');
  assert.equal(await call('/slow'), 'done');
  assert.equal(opened.length, 1);
  const [first] = opened;
  assert.ok(first !== undefined);
  await Promise.race([
    once(first, 'close'),
    sleep(3_000).then(() => assert.fail('the idle connection stays open')),
  ]);
  assert.equal(await call('/'), 'done');
  assert.equal(opened.length, 2);
});
