import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import type { AgentServerConfig } from '#api/agent-server-config.ts';
import { bindBlob } from '#wire/binding.ts';
import type { AgentServerOptions } from '../../server.ts';
import { type Answer, eventually, type TestServer, tokenFor } from '../../testing/harness.ts';

/** Fixtures of these folders' tests; nothing in the product imports it. */

export interface StoreServer extends TestServer {
  /** Ids of the contents that its store has, whether they can be found or not, and what an upload has not finished. */
  kept(): Promise<readonly string[]>;
}

/** An agent-server whose blobs are in the store that is looked at. */
export type OpenStore = (
  t: TestContext,
  blobLimits?: NonNullable<AgentServerConfig['blobs']>['limits'],
  limits?: Record<string, number>,
  options?: Partial<AgentServerOptions>,
) => Promise<StoreServer>;

const none = 'f'.repeat(4);

export async function upload(
  server: Pick<TestServer, 'send'>,
  content: string,
  headers: Record<string, string> = {},
  query = '',
): Promise<Answer & { info: Record<string, string> }> {
  const answer = await server.send('POST', `/blobs${query}`, headers, content);
  return { ...answer, info: answer.json as unknown as Record<string, string> };
}

/** What every store of blobs keeps to, seen by HTTP. */
export function testsOfEveryStore(open: OpenStore, skip: string | false = false): void {
  const settings = { timeout: 30_000, skip };
  testsOfReading(open, settings);
  testsOfNames(open, settings);
  testsOfLimits(open, settings);
  testsOfTimeAndAccess(open, settings);
}

interface Settings {
  readonly timeout: number;
  readonly skip: string | false;
}

function testsOfReading(open: OpenStore, settings: Settings): void {
  test(
    'ranges: a part, from, the last, beyond the end, none of it, and what is no range',
    settings,
    async (t) => {
      const server = await open(t);
      const { info } = await upload(server, '0123456789');
      const range = async (text: string, more: Record<string, string> = {}) =>
        server.send('GET', `/blobs/${info['id']}`, { range: text, ...more });
      for (const [text, part, of] of [
        ['bytes=2-4', '234', 'bytes 2-4/10'],
        ['bytes=7-', '789', 'bytes 7-9/10'],
        ['bytes=-4', '6789', 'bytes 6-9/10'],
        ['bytes=-99', '0123456789', 'bytes 0-9/10'],
        ['bytes=5-99', '56789', 'bytes 5-9/10'],
      ] as const) {
        const answer = await range(text);
        assert.equal(answer.status, 206, text);
        assert.equal(answer.text, part, text);
        assert.equal(answer.headers['content-range'], of, text);
      }
      for (const text of ['bytes=10-', 'bytes=-0', 'bytes=99-100']) {
        const answer = await range(text);
        assert.equal(answer.status, 416, text);
        assert.equal(answer.headers['content-range'], 'bytes */10');
      }
      for (const text of ['bytes=4-2', 'lines=1-2', 'bytes=a-b', 'bytes=0-1,3-4', 'bytes=-'])
        assert.equal((await range(text)).status, 200, text);
      assert.equal((await range('bytes=0-1', { 'if-range': '"other"' })).status, 200);
    },
  );

  test(
    'conditions: unchanged is 304, changed is 412, If-Range of the same version gives the part',
    settings,
    async (t) => {
      const server = await open(t);
      const { info } = await upload(server, 'content');
      const path = `/blobs/${info['id']}`;
      const first = await server.send('GET', path);
      const etag = String(first.headers['etag']);
      const modified = String(first.headers['last-modified']);
      const get = async (headers: Record<string, string>) => (await server.send('GET', path, headers)).status;
      assert.equal(await get({ 'if-none-match': etag }), 304);
      assert.equal(await get({ 'if-none-match': `"x", W/${etag}` }), 304);
      assert.equal(await get({ 'if-none-match': '"x"' }), 200);
      assert.equal(await get({ 'if-modified-since': modified }), 304);
      assert.equal(await get({ 'if-modified-since': 'Thu, 01 Jan 1970 00:00:00 GMT' }), 200);
      assert.equal(await get({ 'if-match': '"x"' }), 412);
      assert.equal(await get({ 'if-unmodified-since': 'Thu, 01 Jan 1970 00:00:00 GMT' }), 412);
      assert.equal(await get({ range: 'bytes=0-0', 'if-range': etag }), 206);
      assert.equal(await get({ range: 'bytes=0-0', 'if-range': modified }), 206);
    },
  );
}

function testsOfNames(open: OpenStore, settings: Settings): void {
  test('ids that are none are refused, and what is not there is 404', settings, async (t) => {
    const server = await open(t);
    for (const id of ['x', '..', '%2e%2e', 'a'.repeat(47), 'A'.repeat(48), `${'a'.repeat(48)}/x`]) {
      const answer = await server.send('GET', `/blobs/${id}`);
      assert.equal(answer.status, 400, id);
      assert.equal(answer.text, 'Bad id');
    }
    assert.equal((await server.send('GET', `/blobs/${'a'.repeat(44)}${none}`)).status, 404);
    assert.equal((await server.send('DELETE', `/blobs/${'a'.repeat(44)}${none}`)).status, 404);
  });

  test('they can be listed page by page, and deleted', settings, async (t) => {
    const server = await open(t);
    const ids: string[] = [];
    for (const text of ['a', 'bb', 'ccc']) ids.push((await upload(server, text)).info['id'] ?? '');
    ids.sort();
    const first = (await server.send('GET', '/blobs?limit=2')).json as unknown as {
      blobs: { id: string }[];
      next: string;
      usage: object;
    };
    assert.deepEqual(
      first.blobs.map(({ id }) => id),
      ids.slice(0, 2),
    );
    assert.deepEqual(first.usage, { bytes: 6, blobs: 3 });
    const rest = (await server.send('GET', `/blobs?limit=2&after=${first.next}`))
      .json as unknown as typeof first;
    assert.deepEqual(
      rest.blobs.map(({ id }) => id),
      ids.slice(2),
    );
    assert.equal(rest.next, undefined);
    assert.equal((await server.send('DELETE', `/blobs/${ids[0]}`)).status, 204);
    assert.equal((await server.send('GET', `/blobs/${ids[0]}`)).status, 404);
    assert.equal((await server.kept()).length, 2);
  });
}

function testsOfLimits(open: OpenStore, settings: Settings): void {
  test(
    'limits of one blob, of all, and of their number hold, for bodies of unknown length too',
    settings,
    async (t) => {
      const server = await open(t, { maxBlobBytes: 100, maxBytes: 150, maxBlobs: 2 });
      assert.equal((await upload(server, 'x'.repeat(101))).status, 413);
      const chunked = { 'transfer-encoding': 'chunked' };
      assert.equal((await upload(server, 'x'.repeat(101), chunked)).status, 413);
      assert.equal((await upload(server, 'x'.repeat(100))).status, 201);
      const over = await upload(server, 'x'.repeat(51), chunked);
      assert.equal(over.status, 507);
      assert.equal(over.info['error'], 'QuotaExceeded');
      const kept = await upload(server, 'x'.repeat(50));
      assert.equal(kept.status, 201);
      assert.equal((await upload(server, '')).info['error'], 'TooManyBlobs');
      assert.equal((await server.send('DELETE', `/blobs/${kept.info['id']}`)).status, 204);
      assert.equal((await upload(server, 'x'.repeat(50))).status, 201);
      assert.equal((await server.kept()).length, 2);
    },
  );

  test('who sends too much is told so while it still sends', settings, async (t) => {
    const server = await open(t, { maxBlobBytes: 1000 });
    for (let round = 0; round < 5; round++)
      assert.equal((await upload(server, 'x'.repeat(9_000_000))).status, 413);
  });

  test('a digest that is said is checked, and a wrong one leaves nothing', settings, async (t) => {
    const server = await open(t);
    const digest = (text: string) => `sha-256=:${createHash('sha256').update(text).digest('base64')}:`;
    assert.equal((await upload(server, 'abc', { 'repr-digest': digest('abc') })).status, 201);
    assert.equal(
      (await upload(server, 'abc', { 'content-digest': digest('abd') })).info['error'],
      'DigestMismatch',
    );
    assert.equal((await upload(server, 'abc', { 'repr-digest': 'sha-256=abc' })).status, 400);
    assert.equal((await server.kept()).length, 1);
  });
}

function testsOfTimeAndAccess(open: OpenStore, settings: Settings): void {
  test('a blob whose time is over is not given, and is removed', settings, async (t) => {
    const server = await open(t, {}, { blobSweepMs: 50 });
    const { info } = await upload(server, 'short', {}, '?ttl=1');
    assert.equal((await server.send('GET', `/blobs/${info['id']}`)).status, 200);
    assert.ok(Date.parse(info['expiresAt'] ?? '') > Date.parse(info['createdAt'] ?? ''));
    await eventually('it is gone', async () => (await server.kept()).length === 0);
    assert.equal((await server.send('GET', `/blobs/${info['id']}`)).status, 404);
  });

  test('without a token for exactly this request nothing is taken or given', settings, async (t) => {
    const server = await open(t, {}, {}, { withoutTokens: false });
    assert.equal((await server.send('GET', '/blobs')).status, 401);
    const bearer = (method: string, path: string) => ({
      authorization: `Bearer ${tokenFor(bindBlob(method, path, ''))}`,
    });
    assert.equal((await server.send('POST', '/blobs', bearer('GET', '/blobs'), 'x')).status, 401);
    assert.equal((await server.send('POST', '/blobs', bearer('POST', '/blobs'), 'x')).status, 201);
    assert.equal((await server.send('GET', '/blobs', bearer('GET', '/blobs'))).status, 200);
  });
}
