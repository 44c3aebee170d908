import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { askBlobs } from './client.ts';
import { typeOf } from './media-type.ts';

const limits = { timeout: 20_000 };

/** A router with the empty agent `here`, and `closed`, which asks who calls. */
async function startStand(t: TestContext) {
  const server = createServer((request, response) => {
    const [path = ''] = (request.url ?? '').split('?');
    const status = path === '/blobs/here' ? 200 : path.startsWith('/blobs/closed') ? 401 : 404;
    response.writeHead(status).end(status === 404 ? 'Not Found' : '{"blobs":[]}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return (agent: string, id?: string) =>
    askBlobs({
      ...{ router: { url }, method: 'GET', agent, signal: AbortSignal.timeout(10_000) },
      path: `/blobs/${agent}${id === undefined ? '?limit=1000' : `/${id}`}`,
      ...(id !== undefined && { id }),
    });
}

test('what is not there is named: the agent, or the blob', limits, async (t) => {
  const ask = await startStand(t);
  (await ask('here')).resume();
  await assert.rejects(ask('nobody'), /no agent nobody/);
  await assert.rejects(ask('nobody', 'f00'), /no agent nobody/);
  await assert.rejects(ask('here', 'f00'), /agent here has no blob f00/);
});

test('an agent that asks who calls has the advice that calls give', limits, async (t) => {
  const ask = await startStand(t);
  await assert.rejects(
    ask('closed', 'f00'),
    (error: Error & { remedy?: string }) => error.remedy?.includes('ploinky key create') === true,
  );
});

test('the type of a file goes by the ending of its name', () => {
  assert.equal(typeOf('Report.PDF'), 'application/pdf');
  for (const name of [undefined, 'data', '.csv', 'x.constructor', 'x.unknown'])
    assert.equal(typeOf(name), 'application/octet-stream');
});
