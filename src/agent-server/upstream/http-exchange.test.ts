import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { loopbackConnections } from '../loopback.ts';
import { exchangeHttp } from './http-exchange.ts';

test('a request that waits for a connection ends when it is aborted', { timeout: 10_000 }, async (t) => {
  const server = createServer(() => undefined).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const agent = loopbackConnections(1);
  t.after(() => {
    agent.destroy();
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const target = { agent, streams: agent, port, path: '/', maxMessageBytes: 1000 };
  const get = (signal: AbortSignal) => exchangeHttp(target, 'GET', {}, undefined, signal, () => false);
  const [first, second] = [new AbortController(), new AbortController()];
  const served = get(first.signal);
  await once(server, 'request');
  const queued = get(second.signal);
  second.abort(new Error('nobody waits'));
  await assert.rejects(queued, /nobody waits/);
  first.abort(new Error('enough'));
  await assert.rejects(served, /enough/);
});
