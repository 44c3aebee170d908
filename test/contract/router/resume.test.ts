import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import {
  askedIn,
  type Client,
  type Endpoint,
  statelessClient,
  textOf,
} from '#agent-server/bridge/testing.ts';
import { askForEvents, type EventClient } from '#agent-server/testing/event-client.ts';
import { toolCall } from '#agent-server/testing/harness.ts';
import { type RouterProcess, startAsking, startSteps } from './two-routers.ts';

// The router that carries a call is killed; its client goes on at the other one.

const bounded = { timeout: 120_000 };

/** Headers of a session of 2025-11-25, which any router knows. */
async function openSessionAt(
  t: TestContext,
  url: string,
  capabilities: object = {},
): Promise<Record<string, string>> {
  const params = { protocolVersion: '2025-11-25', capabilities, clientInfo: { name: 't', version: '1' } };
  const message = { jsonrpc: '2.0', id: 0, method: 'initialize', params };
  const answer = await askForEvents(t, url, { headers: {}, message });
  const id = answer.headers.get('mcp-session-id');
  assert.ok(id !== null, `${answer.status}`);
  return { 'mcp-session-id': id, 'mcp-protocol-version': '2025-11-25' };
}

function told(client: EventClient): unknown[] {
  return client.messages().map(({ params, result }) => result?.content[0]?.text ?? params['data']);
}

for (const path of ['/mcps/demo/mcp', '/mcp']) {
  test(
    `at ${path}, a call whose router is killed is taken up again at another one: each event once, and the answer`,
    bounded,
    async (t) => {
      const { routers, open } = await startSteps(t);
      const [first, second] = routers;
      const headers = await openSessionAt(t, first.url + path);
      const call = await askForEvents(t, first.url + path, { headers, message: toolCall('steps') });
      assert.match(call.headers.get('content-type') ?? '', /^text\/event-stream/);
      await open(1, 2);
      await call.until('two are told', () => told(call).length === 2);
      await first.kill();
      await call.until('its connection breaks', () => call.ended !== undefined);
      await open(3, 4);
      const url = second.url + path;
      const again = { ...headers, 'last-event-id': call.lastEventId ?? '' };
      const rest = await askForEvents(t, url, { headers: again });
      assert.equal(rest.status, 200);
      await rest.until('what was missed comes', () => told(rest).length === 2);
      await open(5, 6);
      await rest.until('it is over', () => rest.ended === 'complete');
      const all = [...told(call), ...told(rest)];
      assert.match(String(all.pop()), /^(one|two) is done\n$/);
      assert.deepEqual(all, [1, 2, 3, 4, 5, 6]);
      assert.equal(rest.messages().at(-1)?.id, 1);

      const other = await openSessionAt(t, url);
      const stolen = { ...other, 'last-event-id': call.lastEventId ?? '' };
      assert.equal((await askForEvents(t, url, { headers: stolen })).status, 400);
      const ended = await fetch(url, { method: 'DELETE', headers });
      assert.equal(ended.status, 204);
      assert.equal((await askForEvents(t, url, { headers: again })).status, 404);
    },
  );
}

const answerWith = (name: string) => ({ action: 'accept', content: { name } });

for (const path of ['/mcps/demo/mcp', '/mcp']) {
  test(
    `at ${path}, a question outlives the router that put it; the answer goes to any router, and the call's comes from there`,
    bounded,
    async (t) => {
      const [first, second] = await startAsking(t);
      const headers = await openSessionAt(t, first.url + path, { elicitation: {} });
      const message = toolCall('meet');
      const call = await askForEvents(t, first.url + path, { headers, message });
      await call.until('it asks', () => call.messages().length === 1);
      const { id, method } = call.messages()[0] ?? {};
      assert.equal(method, 'elicitation/create');
      await first.kill();
      const url = second.url + path;
      const answer = { jsonrpc: '2.0', id, result: answerWith('Ana') };
      const taken = await askForEvents(t, url, { headers, message: answer });
      assert.equal(taken.status, 202);
      const again = { ...headers, 'last-event-id': call.lastEventId ?? '' };
      const rest = await askForEvents(t, url, { headers: again });
      await rest.until('it is over', () => rest.ended === 'complete');
      assert.deepEqual(told(rest), ['Hello, Ana!']);
    },
  );

  test(
    `at ${path}, a call of 2026-07-28 that is parked is answered through another router than it came by (A2)`,
    bounded,
    async (t) => {
      const [first, second] = await startAsking(t);
      for (let round = 0; round < 4; round += 1) {
        const asked = askedIn(await at(first, path).call('meet').next());
        const inputResponses = { [asked.keys[0] ?? '']: answerWith(`Ana ${round}`) };
        const retry = at(second, path).call('meet', {}, { inputResponses, requestState: asked.state });
        assert.equal(textOf(await retry.next()), `Hello, Ana ${round}!`);
      }
      const asked = askedIn(await at(first, path).call('meet').next());
      await first.kill();
      const inputResponses = { [asked.keys[0] ?? '']: answerWith('Bea') };
      const again = { inputResponses, requestState: asked.state };
      const retry = await at(second, path).call('meet', {}, again).next();
      assert.equal(textOf(retry), 'Hello, Bea!');
      const late = await at(second, path).call('meet', {}, again).next();
      assert.equal(late.error?.code, -32602, 'it is run once');
    },
  );
}

/** A client of 2026-07-28 that can be asked. */
function at({ url }: RouterProcess, path: string): Client {
  const endpoint: Endpoint = {
    url: url + path.replace(/\/mcp$/, ''),
    post: () => assert.fail('it has no session'),
  };
  return statelessClient(endpoint, { elicitation: {} });
}
