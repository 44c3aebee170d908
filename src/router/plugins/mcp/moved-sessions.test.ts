import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { agentNamed } from '#routing/testing.ts';
import type { FakeAgent } from '../../testing/fake-agent.ts';
import { startTestRouter, type TestRouter } from '../../testing/harness.ts';
import { openSession, post, request } from '../../testing/mcp-client.ts';
import { type OpenedStream, openStream } from '../../testing/open-stream.ts';

const limits = { timeout: 30_000 };
const tools = [{ name: 'echo' }, { name: 'ask' }, { name: 'forever' }];

function serveFrom(router: TestRouter, fakes: readonly FakeAgent[], ending?: FakeAgent): void {
  const endpoints = fakes.map((fake) => ({
    ...{ name: fake.identity.name, uid: fake.instance, address: fake.address },
    ...{ ready: fake !== ending, terminating: fake === ending },
  }));
  const status = { endpoints, toolsDigest: 'd1', conditions: [] };
  router.tables.set([agentNamed('demo', { uid: 'uid-default-demo', status })]);
}

interface Moved {
  readonly router: TestRouter;
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly call: OpenedStream;
  readonly old: FakeAgent;
  readonly home: FakeAgent;
}

/** A call at an instance, whose session another instance has now, which came later. */
async function callThatStays(t: TestContext, path: string, tool: string): Promise<Moved> {
  const router = await startTestRouter(t, [
    { name: 'demo', instance: 'demo-1', tools },
    { name: 'demo', instance: 'demo-2', tools },
  ]);
  const [old, home] = router.agents;
  assert.ok(old !== undefined && home !== undefined);
  const url = `${await router.listen()}${path}`;
  const seenAt = ({ seen }: FakeAgent) => seen.filter(({ body }) => body.includes('where am I')).length;
  const where = request('tools/call', { name: 'echo', arguments: { text: 'where am I' } });
  for (let tries = 0; tries < 100; tries += 1) {
    serveFrom(router, [old, home]);
    const headers = await openSession(router, path);
    const before = seenAt(home);
    await post(router, where, { path, headers });
    if (seenAt(home) === before) continue;
    serveFrom(router, [old]);
    const call = await openStream(t, url, { headers, body: request('tools/call', { name: tool }, 'long') });
    serveFrom(router, [old, home]);
    return { router, url, headers, call, old, home };
  }
  return assert.fail('no session went to the other instance');
}

async function say(url: string, headers: Record<string, string>, message: object): Promise<void> {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ jsonrpc: '2.0', ...message }),
  });
  assert.equal(answer.status, 202);
}

for (const path of ['/mcp', '/mcps/demo/mcp']) {
  test(
    `at ${path}, the answer to a question goes to the instance that put it, wherever the session is now`,
    limits,
    async (t) => {
      const { router, url, headers, call, old, home } = await callThatStays(t, path, 'ask');
      const question = await call.next();
      assert.equal(question.method, 'elicitation/create');
      // It waits for the answer although it takes no new calls any more.
      serveFrom(router, [old, home], old);
      await say(url, headers, { id: question.id, result: { action: 'accept' } });
      assert.equal((await call.next()).result.content[0].text, 'demo done');
      assert.ok(home.seen.every(({ body }) => !body.includes('question-7')));
    },
  );

  test(
    `at ${path}, notifications/cancelled reaches the instance that runs the request, wherever the session is now`,
    limits,
    async (t) => {
      const { url, headers, old, home } = await callThatStays(t, path, 'forever');
      await say(url, headers, { method: 'notifications/cancelled', params: { requestId: 'long' } });
      const cancelled = ({ seen }: FakeAgent) =>
        seen.filter(({ body }) => body.includes('notifications/cancelled')).length;
      assert.deepEqual([cancelled(old), cancelled(home)], [1, 0]);
    },
  );
}
