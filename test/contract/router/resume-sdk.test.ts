import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import {
  Client as ClientV2,
  StreamableHTTPClientTransport as TransportV2,
} from '@modelcontextprotocol/client';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { LoggingMessageNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { eventually } from '#agent-server/testing/harness.ts';
import { type RouterProcess, startSteps } from './two-routers.ts';

// Clients that are not ours, at an address behind which the router is killed and another one takes over.

const bounded = { timeout: 120_000 };
const info = { name: 'sdk', version: '1' };

/** Stands for the router that `current` gives at that moment, as a load balancer's address does. */
const address = 'http://router.test';

function fetchFrom(current: () => RouterProcess) {
  return (input: string | URL, init?: RequestInit) =>
    fetch(String(input).replace(address, current().url), init);
}

interface Connected {
  readonly call: () => Promise<unknown>;
  readonly heard: readonly unknown[];
}

async function connectV1(t: TestContext, path: string, current: () => RouterProcess): Promise<Connected> {
  const client = new ClientV1(info);
  const heard: unknown[] = [];
  client.setNotificationHandler(
    LoggingMessageNotificationSchema,
    ({ params }) => void heard.push(params.data),
  );
  await client.connect(
    new TransportV1(new URL(address + path), { fetch: fetchFrom(current) }) as Parameters<
      typeof client.connect
    >[0],
  );
  t.after(() => client.close());
  return { heard, call: () => client.callTool({ name: 'steps', arguments: {} }) };
}

async function connectV2(t: TestContext, path: string, current: () => RouterProcess): Promise<Connected> {
  const client = new ClientV2(info);
  const heard: unknown[] = [];
  client.setNotificationHandler('notifications/message', ({ params }) => void heard.push(params.data));
  await client.connect(new TransportV2(new URL(address + path), { fetch: fetchFrom(current) }));
  t.after(() => client.close());
  return { heard, call: () => client.callTool({ name: 'steps', arguments: {} }) };
}

for (const [name, path, connectTo] of [
  ['SDK v1', '/mcp', connectV1],
  ['SDK v2', '/mcps/demo/mcp', connectV2],
] as const) {
  test(`${name} at ${path} gets each event and the answer when its router is killed`, bounded, async (t) => {
    const { routers, open } = await startSteps(t);
    let current = routers[0];
    const { call, heard } = await connectTo(t, path, () => current);
    const answer = call();
    await open(1, 2);
    await eventually('two are told', () => heard.length === 2, 20_000);
    current = routers[1];
    await routers[0].kill();
    await open(3, 4, 5, 6);
    const { content } = (await answer) as { content: { text: string }[] };
    assert.match(content[0]?.text ?? '', /is done/);
    assert.deepEqual(heard, [1, 2, 3, 4, 5, 6]);
  });
}
