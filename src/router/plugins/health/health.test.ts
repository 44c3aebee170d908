import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { editableTables, startTestRouter } from '../../testing/harness.ts';
import { post } from '../../testing/mcp-client.ts';

const limits = { timeout: 30_000 };
const get = { method: 'GET' as const };

test('a router that has no table yet is alive and not ready', limits, async (t) => {
  const tables = { ...editableTables(), synced: false };
  const router = await startTestRouter(t, [], { tables });
  const asked = async (path: string) => (await post(router, undefined, { ...get, path })).status;
  assert.equal(await asked('/health'), 200);
  assert.equal(await asked('/health?ready'), 503);
  assert.equal(await asked('/ready'), 503);
  tables.synced = true;
  for (const path of ['/health', '/health?ready', '/ready']) assert.equal(await asked(path), 200, path);
});

test('a page that is sent a body answers and ends the connection', limits, async (t) => {
  const router = await startTestRouter(t, []);
  const port = Number(new URL(await router.listen()).port);
  const socket = connect(port, '127.0.0.1');
  t.after(() => socket.destroy());
  const said: Buffer[] = [];
  socket.on('data', (chunk) => said.push(chunk));
  const head = `Host: 127.0.0.1:${port}\r\nContent-Length: 40\r\n\r\n`;
  socket.write(`GET /health HTTP/1.1\r\n${head}GET /metrics HTTP/1.1\r\n${head}`);
  await once(socket, 'close');
  const text = Buffer.concat(said).toString();
  assert.equal(text.match(/HTTP\/1\.1 200/g)?.length, 1, text);
  assert.match(text, /connection: close/i);
});
