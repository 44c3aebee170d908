import assert from 'node:assert/strict';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { createSseDecoder, encodeMessage, sseHeaders } from '#mcp/sse.ts';
import { openSession, type TestServer, testServer } from '../testing/harness.ts';

const limits = { timeout: 30_000 };

interface Message {
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: Record<string, unknown>;
  readonly result?: Record<string, unknown>;
  readonly error?: { readonly code: number };
}

interface Upstream {
  readonly port: number;
  /** What each of its sessions declared, by session id. */
  readonly declared: Map<string, unknown>;
  readonly ended: string[];
  /** Its sessions of all tool calls, in order. */
  readonly called: string[];
}

/** A server with sessions whose only tool asks for a name on the call's stream, and greets. */
async function startUpstream(t: TestContext): Promise<Upstream> {
  const declared = new Map<string, unknown>();
  const ended: string[] = [];
  const called: string[] = [];
  const waiting = new Map<string, { response: ServerResponse; id: Message['id'] }>();
  const server = createServer(async (request, response) => {
    const session = String(request.headers['mcp-session-id'] ?? `session-${declared.size}`);
    if (request.method === 'DELETE') ended.push(session);
    if (request.method !== 'POST') {
      response.writeHead(request.method === 'DELETE' ? 204 : 405).end();
      return;
    }
    const message = (await json(request)) as Message;
    if (message.method === undefined) {
      const call = waiting.get(`${session} ${message.id}`);
      const name = (message.result?.['content'] as { name?: string } | undefined)?.name;
      const text = name === undefined ? `refused with ${message.error?.code}` : `Hello, ${name}!`;
      call?.response.end(
        encodeMessage({ jsonrpc: '2.0', id: call.id, result: { content: [{ type: 'text', text }] } }),
      );
      response.writeHead(202).end();
    } else if (message.method === 'tools/call') {
      called.push(session);
      const question = `ask-${called.length}`;
      waiting.set(`${session} ${question}`, { response, id: message.id });
      response.writeHead(200, sseHeaders);
      const params = { message: 'Who are you?' };
      response.write(encodeMessage({ jsonrpc: '2.0', id: question, method: 'elicitation/create', params }));
    } else {
      if (message.method === 'initialize') declared.set(session, message.params?.['capabilities']);
      response.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': session });
      response.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, ...answerOf(message.method) }));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, declared, ended, called };
}

function answerOf(method: string | undefined): object {
  if (method === 'initialize')
    return { result: { protocolVersion: '2025-11-25', capabilities: { tools: {} } } };
  if (method === 'tools/list')
    return { result: { tools: [{ name: 'meet', inputSchema: { type: 'object' } }] } };
  return { error: { code: -32601, message: `no ${method}` } };
}

async function start(t: TestContext): Promise<{ upstream: Upstream; agent: TestServer }> {
  const upstream = await startUpstream(t);
  return { upstream, agent: await testServer(t, { mcp: { upstream: { port: upstream.port } } }) };
}

const canAnswer = { elicitation: { form: {} } };

/** A tool call whose messages come one by one as they arrive. */
async function* call(agent: TestServer, session: string): AsyncGenerator<Message> {
  const response = await fetch(`${agent.url}/mcp`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-session-id': session,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 9, method: 'tools/call', params: { name: 'meet' } }),
  });
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) {
    yield (await response.json()) as Message;
    return;
  }
  const decoder = createSseDecoder();
  for await (const chunk of response.body ?? []) {
    for (const { data } of decoder.push(chunk)) if (data !== '') yield JSON.parse(data) as Message;
  }
}

async function next(messages: AsyncGenerator<Message>): Promise<Message> {
  const { value } = await messages.next();
  return value ?? assert.fail('the stream ended');
}

function textOf(message: Message): string | undefined {
  return (message.result as { content?: { text: string }[] } | undefined)?.content?.[0]?.text;
}

function answer(agent: TestServer, session: string, id: Message['id'], name: string) {
  const result = { action: 'accept', content: { name } };
  return agent.post({ jsonrpc: '2.0', id, result }, { 'mcp-session-id': session });
}

test('what a server asks during a call reaches its client, and the answer the server', limits, async (t) => {
  const { upstream, agent } = await start(t);
  const session = await openSession(agent, canAnswer);
  const messages = call(agent, session);
  const question = await next(messages);
  assert.equal(question.method, 'elicitation/create');
  assert.deepEqual(question.params, { message: 'Who are you?' });
  assert.equal((await answer(agent, session, question.id, 'Ana')).status, 202);
  assert.equal(textOf(await next(messages)), 'Hello, Ana!');
  assert.deepEqual([...upstream.declared.values()], [{}, canAnswer]);
});

test('two clients are asked apart, each on an upstream session of its own', limits, async (t) => {
  const { upstream, agent } = await start(t);
  const sessions = [await openSession(agent, canAnswer), await openSession(agent, canAnswer)] as const;
  const calls = sessions.map((session) => call(agent, session));
  const [ana, ben] = (await Promise.all(calls.map(next))) as [Message, Message];
  assert.equal((await answer(agent, sessions[1], 'question-99', 'Eve')).status, 202, 'nobody asked that');
  await answer(agent, sessions[1], ben.id, 'Ben');
  await answer(agent, sessions[0], ana.id, 'Ana');
  const texts = await Promise.all(calls.map(async (messages) => textOf(await next(messages))));
  assert.deepEqual(texts, ['Hello, Ana!', 'Hello, Ben!']);
  assert.equal(new Set(upstream.called).size, 2);
});

test(
  'a client that can answer nothing is not asked, and shares the session that declares nothing',
  limits,
  async (t) => {
    const { upstream, agent } = await start(t);
    const messages = call(agent, await openSession(agent));
    assert.equal(textOf(await next(messages)), 'refused with -32601');
    assert.deepEqual([...upstream.declared.values()], [{}]);
  },
);

test('a session that ends, ends its upstream session', limits, async (t) => {
  const { upstream, agent } = await start(t);
  const session = await openSession(agent, canAnswer);
  const messages = call(agent, session);
  const { id } = await next(messages);
  await answer(agent, session, id, 'Ana');
  await next(messages);
  assert.equal((await agent.send('DELETE', '/mcp', { 'mcp-session-id': session })).status, 204);
  while (upstream.ended.length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
  assert.deepEqual(upstream.ended, upstream.called);
});
