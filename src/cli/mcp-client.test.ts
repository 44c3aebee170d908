import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { systemClock } from '#kit/clock.ts';
import { exitCodeOf } from './errors.ts';
import { createMcpClient, type McpClientOptions } from './mcp-client.ts';

// What `ploinky call` says to a server and hears of it, against servers that do one thing each.

interface Sent {
  readonly headers: IncomingHttpHeaders;
  readonly id: number;
  readonly params: Record<string, unknown> & { _meta: Record<string, unknown> };
}

type Members = Record<string, unknown>;

async function withServer(
  answer: (sent: Sent, response: ServerResponse, round: number) => void,
  use: (
    options: (more?: Partial<McpClientOptions>) => McpClientOptions,
    sent: readonly Sent[],
  ) => Promise<void>,
): Promise<void> {
  const sent: Sent[] = [];
  const server = createServer(async (request, response) => {
    const body = JSON.parse(await text(request)) as Sent;
    const one = { headers: request.headers, id: body.id, params: body.params };
    sent.push(one);
    answer(one, response, sent.length);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const signal = new AbortController().signal;
  try {
    await use((more) => ({ router: { url }, version: '1.0.0', clock: systemClock, signal, ...more }), sent);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

function reply(response: ServerResponse, id: number, members: object, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ jsonrpc: '2.0', id, ...members }));
}

const call = { method: 'tools/call', params: { name: 't', arguments: { a: 1 } } };
const ask = { method: 'elicitation/create', params: { message: '?' } };

test('a call that is asked comes again with the answers and the server’s state, under another id', async () => {
  await withServer(
    ({ id }, response, round) => {
      const asking = { resultType: 'input_required', inputRequests: { q: ask }, requestState: 'sealed' };
      reply(response, id, { result: round === 1 ? asking : { resultType: 'complete', content: [] } });
    },
    async (options, sent) => {
      const asked: Members[] = [];
      const answer = async (requests: Members) => {
        asked.push(requests);
        return { q: { action: 'decline' } };
      };
      const result = await createMcpClient(options({ answer })).call(call);
      assert.equal(result['resultType'], 'complete');
      assert.deepEqual(asked, [{ q: ask }]);
      const [first, second] = sent.map(({ params }) => params);
      assert.deepEqual(first?._meta['io.modelcontextprotocol/clientCapabilities'], {
        elicitation: { form: {}, url: {} },
      });
      const { _meta, ...again } = second ?? {};
      assert.deepEqual(again, {
        ...call.params,
        inputResponses: { q: { action: 'decline' } },
        requestState: 'sealed',
      });
      assert.notEqual(sent[0]?.id, sent[1]?.id);
    },
  );
});

test('a server that only wants to be called again is', async () => {
  await withServer(
    ({ id }, response, round) =>
      reply(response, id, {
        result: round === 1 ? { resultType: 'input_required', requestState: 's' } : { content: [] },
      }),
    async (options, sent) => {
      await createMcpClient(options()).call(call);
      assert.equal(sent[1]?.params['requestState'], 's');
    },
  );
});

test('where nobody can be asked no answers are offered, and a question is an error', async () => {
  for (const members of [
    { result: { resultType: 'input_required', inputRequests: { q: ask } } },
    { error: { code: -32021, message: 'x', data: { requiredCapabilities: { elicitation: {} } } } },
  ]) {
    await withServer(
      ({ id }, response) => reply(response, id, members),
      async (options, sent) => {
        await assert.rejects(createMcpClient(options()).call(call), /there is no terminal to ask it in/);
        assert.deepEqual(sent[0]?.params._meta['io.modelcontextprotocol/clientCapabilities'], {});
      },
    );
  }
});

test('a server that never has enough is given up', async () => {
  await withServer(
    ({ id }, response) =>
      reply(response, id, { result: { resultType: 'input_required', inputRequests: { q: ask } } }),
    async (options) => {
      const answer = async () => ({ q: { action: 'cancel' } });
      await assert.rejects(createMcpClient(options({ answer })).call(call), /asked more than 50 times/);
    },
  );
});

test('progress and logs are heard, and logs are wanted only with a level', async () => {
  await withServer(
    ({ id }, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const message of [
        { method: 'notifications/progress', params: { progress: 1, total: 2 } },
        { method: 'notifications/message', params: { level: 'info', data: 'hi' } },
        { id, result: { content: [] } },
      ]) {
        response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`);
      }
      response.end();
    },
    async (options, sent) => {
      const heard: Members[] = [];
      const hear = (params: Members) => void heard.push(params);
      const listener = { onProgress: hear, onLog: hear };
      await createMcpClient(options({ listener, logLevel: 'debug' })).call(call);
      assert.deepEqual(heard, [
        { progress: 1, total: 2 },
        { level: 'info', data: 'hi' },
      ]);
      await createMcpClient(options()).call(call);
      const levels = sent.map(({ params }) => params._meta['io.modelcontextprotocol/logLevel']);
      assert.deepEqual(levels, ['debug', undefined]);
    },
  );
});

test('arguments that a tool wants in headers are sent in them', async () => {
  await withServer(
    ({ id }, response) => reply(response, id, { result: {} }),
    async (options, sent) => {
      const inputSchema = { properties: { a: { type: 'integer', 'x-mcp-header': 'A' } } };
      await createMcpClient(options()).call({ ...call, inputSchema });
      const { headers } = sent[0] as Sent;
      assert.deepEqual(
        [headers['mcp-param-a'], headers['mcp-name'], headers['mcp-method']],
        ['1', 't', 'tools/call'],
      );
    },
  );
});

test('an abort closes the stream, which cancels the call at the server', { timeout: 10_000 }, async () => {
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  const controller = new AbortController();
  await withServer(
    (_sent, response) => {
      response.once('close', resolve);
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': working\n\n');
      controller.abort(new Error('interrupted'));
    },
    async (options) => {
      await assert.rejects(createMcpClient(options({ signal: controller.signal })).call(call));
      await closed;
    },
  );
});

test('a router that is not there, an unknown place and an error have exit codes of their own', async () => {
  await withServer(
    ({ id, params }, response) => {
      if (params['name'] === 'error') reply(response, id, { error: { code: -32602, message: 'no' } });
      else response.writeHead(404).end('nothing here');
    },
    async (options) => {
      const client = createMcpClient(options());
      for (const [name, code] of [
        ['error', 1],
        ['other', 4],
      ] as const) {
        await assert.rejects(
          client.call({ ...call, params: { name } }),
          (error) => exitCodeOf(error) === code,
        );
      }
      const away = createMcpClient(options({ router: { url: 'http://127.0.0.1:1' } }));
      await assert.rejects(away.call(call), (error) => exitCodeOf(error) === 3);
    },
  );
});
