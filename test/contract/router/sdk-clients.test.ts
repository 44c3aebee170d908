import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import {
  Client as ClientV2,
  StreamableHTTPClientTransport as TransportV2,
} from '@modelcontextprotocol/client';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { agentOf, startTestRouter, type TestRouter } from '#router/testing/harness.ts';

/** The router as clients of others see it. */
const limits = { timeout: 60_000 };
const info = { name: 'sdk', version: '1' };
const tools = ['echo', 'ask', 'progress', 'odd'].map((name) => ({
  name,
  inputSchema: { type: 'object' },
  ...(name === 'odd' && { outputSchema: { type: 'array' } }),
}));

async function start(t: TestContext): Promise<{ router: TestRouter; base: string }> {
  const router = await startTestRouter(t, [
    { name: 'demo', tools, resources: [{ uri: 'text://x', name: 'x' }], prompts: [{ name: 'hi' }] },
    { name: 'other', tools: [{ name: 'say', inputSchema: { type: 'object' } }] },
  ]);
  return { router, base: await router.listen() };
}

function textOf(result: unknown): string {
  return (result as { content: { text: string }[] }).content[0]?.text ?? '';
}

async function connectV1(t: TestContext, url: string): Promise<ClientV1> {
  const client = new ClientV1(info, { capabilities: { elicitation: {} } });
  await client.connect(new TransportV1(new URL(url)) as Parameters<typeof client.connect>[0]);
  t.after(() => client.close());
  return client;
}

for (const path of ['/mcp', '/mcps/demo/mcp']) {
  test(`SDK v1 at ${path}: tools, resources, prompts`, limits, async (t) => {
    const { base } = await start(t);
    const client = await connectV1(t, base + path);
    const names = (await client.listTools()).tools.map((tool) => tool.name);
    assert.ok(names.includes('echo'));
    assert.equal(textOf(await client.callTool({ name: 'echo', arguments: { text: 'hi' } })), 'demo: hi');
    assert.equal((await client.listResources()).resources[0]?.uri, 'text://x');
    const read = await client.readResource({ uri: 'text://x' });
    assert.equal((read.contents[0] as { text: string }).text, 'demo reads text://x');
    assert.equal((await client.listPrompts()).prompts[0]?.name, 'hi');
    await client.ping();
  });

  for (const mode of ['auto', 'legacy'] as const) {
    test(`SDK v2 (${mode}) at ${path}: tools, resources, prompts`, limits, async (t) => {
      const { base, router } = await start(t);
      const client = new ClientV2(info, mode === 'auto' ? { versionNegotiation: { mode } } : {});
      await client.connect(new TransportV2(new URL(base + path)));
      t.after(() => client.close());
      const names = (await client.listTools()).tools.map((tool) => tool.name);
      assert.ok(names.includes('echo'));
      assert.equal(textOf(await client.callTool({ name: 'echo', arguments: { text: 'hi' } })), 'demo: hi');
      const read = await client.readResource({ uri: 'text://x' });
      assert.equal((read.contents[0] as { text: string }).text, 'demo reads text://x');
      assert.equal((await client.listPrompts()).prompts[0]?.name, 'hi');
      const revision = mode === 'auto' ? '2026-07-28' : '2025-11-25';
      const call = router.agents[0]?.seen.find((seen) => seen.body.includes('"tools/call"'));
      assert.equal(call?.claims.mcp?.revision, revision);
    });
  }
}

test('SDK v1: a question asked through the aggregate is answered, progress arrives', limits, async (t) => {
  const { base } = await start(t);
  const client = await connectV1(t, `${base}/mcp`);
  client.setRequestHandler(ElicitRequestSchema, async (question) => {
    assert.equal(question.params.message, 'really?');
    return { action: 'accept', content: {} };
  });
  assert.equal(textOf(await client.callTool({ name: 'ask', arguments: {} })), 'demo done');
  assert.equal(textOf(await client.callTool({ name: 'progress', arguments: {} })), 'demo done');
});

test('SDK v1: a change of the lists reaches the client', limits, async (t) => {
  const { base, router } = await start(t);
  const { promise, resolve } = Promise.withResolvers<number>();
  const client = new ClientV1(info, {
    capabilities: {},
    listChanged: { tools: { onChanged: (_error, found) => resolve(found?.length ?? 0) } },
  });
  await client.connect(new TransportV1(new URL(`${base}/mcp`)) as Parameters<typeof client.connect>[0]);
  t.after(() => client.close());
  await client.listTools();
  const [demo] = router.agents;
  assert.ok(demo !== undefined);
  await new Promise((done) => setTimeout(done, 200));
  router.tables.set([agentOf(demo, { digest: 'd2' })]);
  assert.equal(await promise, tools.length);
});
