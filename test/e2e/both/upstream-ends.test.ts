import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import { build } from 'esbuild';
import { askForEvents, type EventClient } from '#agent-server/testing/event-client.ts';
import { createPlace, missingPlace, type Place } from '#test/fixtures/place/place.ts';
import { type Front, startFront } from '#test/fixtures/round-robin/front.ts';
import { checkout } from '#test/fixtures/workspace/workspace.ts';

// An agent's own MCP server ends while its clients are there, who reach it through two routers in turn: what runs
// ends with an error that says so, and then everything goes on in the same session, as it was (rows E1, E2, E3 and N3 of
// docs/bridging.md).

/** How the server is reached by its agent-server; on its own port it is a process that ends and comes back. */
const transports = {
  'ends-http': { command: ['node', '/code/server.mjs', '--http'], mcp: { upstream: { port: 7001 } } },
  'ends-stdio': { mcp: { upstream: { stdio: ['node', '/code/server.mjs'] } } },
};
const patienceMs = 60_000;

describe('An MCP server that ends', { skip: missingPlace, timeout: 600_000 }, () => {
  let place: Place;
  let front: Front;
  before(async () => {
    place = await createPlace({ examples: [] });
    await place.up(...(await writeAgents(place.folder)));
    front = await startFront(await place.replicas());
  });
  after(async () => {
    await front?.close();
    await place?.remove();
  });

  for (const name of Object.keys(transports)) {
    it(`${name}: ends the calls that run, once each, and the session goes on with its subscriptions`, async (t) => {
      const client = await openClient(t, `${front.url}/mcps/${name}/mcp`);
      const stream = await client.listen();
      assert.ok((await client.ask('resources/subscribe', { uri: 'test://a' })).result);
      await untilHeard(client, stream, 1);
      const first = await client.identity();

      const running = client.call('hang');
      await untilTrue('it runs', async () => /1 hanging/.test((await client.text('count')) ?? ''));
      const ended = await Promise.all([client.call('crash'), running]);
      for (const { error } of ended) {
        assert.equal(error?.code, -32_603);
        assert.match(error?.message ?? '', /MCP server/);
      }

      const later = await Promise.all(Array.from({ length: 8 }, () => client.identity()));
      const [next] = later;
      assert.notEqual(next?.born, first.born);
      assert.deepEqual(new Set(later.map((one) => JSON.stringify(one))).size, 1, 'one process, one session');
      await untilHeard(client, stream, stream.messages().length + 1);
      assert.match((await client.text('count')) ?? '', / 0 hanging/, 'what ended was not run again');
      assert.deepEqual(await client.identity(), next);
      assert.equal(stream.ended, undefined, 'its stream was not touched');
    });
  }
});

async function writeAgents(folder: string): Promise<string[]> {
  const code = await bundle();
  return Promise.all(
    Object.entries(transports).map(async ([name, how]) => {
      const file = join(folder, `${name}.json`);
      const spec = {
        ...how,
        env: [{ name: 'ERAS', value: '2025' }],
        code: { inline: { 'server.mjs': code } },
      };
      const agent = { apiVersion: 'ploinky.dev/v1alpha1', kind: 'Agent', metadata: { name }, spec };
      await writeFile(file, JSON.stringify(agent));
      return file;
    }),
  );
}

async function bundle(): Promise<string> {
  const entry = join(checkout, 'test/fixtures/asking-server/main.ts');
  const common = { bundle: true, write: false, platform: 'node', format: 'esm', target: 'node24' } as const;
  const { outputFiles } = await build({ ...common, entryPoints: [entry] });
  return outputFiles[0]?.text ?? '';
}

interface Answer {
  readonly result?: { readonly content?: readonly { readonly text?: string }[] };
  readonly error?: { readonly code: number; readonly message: string };
}

/** A session of 2025-11-25. */
async function openClient(t: TestContext, url: string) {
  const send = (headers: Record<string, string>, body: object) =>
    askForEvents(t, url, { headers, message: { jsonrpc: '2.0', ...body } });
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } };
  const begun = await send({}, { id: 0, method: 'initialize', params });
  const headers = {
    'mcp-session-id': begun.headers.get('mcp-session-id') ?? '',
    'mcp-protocol-version': '2025-11-25',
  };
  await send(headers, { method: 'notifications/initialized' });
  let ids = 0;
  async function ask(method: string, params: object): Promise<Answer> {
    const id = ++ids;
    const exchange = await send(headers, { id, method, params });
    await exchange.until(`${method} is answered`, () => exchange.ended !== undefined);
    const answer = exchange.messages().find((message) => (message as { id?: unknown }).id === id);
    assert.ok(answer !== undefined, `${exchange.status} ${exchange.ended}`);
    return answer as Answer;
  }
  const call = (name: string, args: object = {}) => ask('tools/call', { name, arguments: args });
  const text = async (name: string) => (await call(name)).result?.content?.[0]?.text;
  return {
    ask,
    call,
    text,
    listen: () => askForEvents(t, url, { headers }),
    /** The server's process, by when it began, and session, as soon as there is one. */
    async identity(): Promise<{ born: number; session: string }> {
      const said = await untilTrue('the server is there', () => text('whoami'));
      const { born, session } = JSON.parse(said) as { born: number; session: string };
      return { born, session };
    },
  };
}

/** Changes the resource until a stream has so many messages. */
async function untilHeard(
  client: Awaited<ReturnType<typeof openClient>>,
  stream: EventClient,
  count: number,
): Promise<void> {
  await untilTrue('the change is heard', async () => {
    await client.call('touch', { uri: 'test://a' });
    await new Promise((resolve) => setTimeout(resolve, 50));
    return stream.messages().length >= count;
  });
  assert.equal(stream.messages().at(-1)?.method, 'notifications/resources/updated');
}

async function untilTrue<T>(what: string, probe: () => Promise<T | undefined | false>): Promise<T> {
  const deadline = performance.now() + patienceMs;
  for (;;) {
    const found = await probe();
    if (found !== undefined && found !== false) return found;
    assert.ok(performance.now() < deadline, `waited in vain: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
