import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { metaKeys } from '#mcp/eras.ts';
import { createSseDecoder } from '#mcp/sse.ts';
import { openSession, type TestServer, testServer } from '../testing/harness.ts';

/** Clients of either era, and an agent-server before the asking server of either. Fixtures of tests. */

const asking = fileURLToPath(new URL('../../../test/fixtures/asking-server/main.ts', import.meta.url));

export const transports = ['http', 'stdio'] as const;
export type Transport = (typeof transports)[number];
export type Eras = '2025' | '2026' | 'both';

export interface Message {
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: Record<string, unknown>;
  readonly result?: Record<string, unknown>;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

/** An agent whose upstream is the asking server. */
export async function startAgent(
  t: TestContext,
  eras: Eras,
  transport: Transport,
  limits: Record<string, number> = {},
): Promise<TestServer> {
  if (transport === 'http') {
    const { port, end } = await startHttpUpstream(t, eras);
    try {
      return await testServer(t, { limits, mcp: { upstream: { port } } });
    } finally {
      // After the agent-server's, since hooks run in the order in which they were made.
      if (t.signal.aborted) end();
      else t.after(end);
    }
  }
  const env = { PATH: process.env['PATH'] ?? '', ERAS: eras };
  return testServer(t, { limits, env, mcp: { upstream: { stdio: [process.execPath, asking] } } });
}

async function startHttpUpstream(t: TestContext, eras: Eras): Promise<{ port: number; end: () => void }> {
  const env = { PATH: process.env['PATH'], ERAS: eras };
  const child = spawn(process.execPath, [asking, '--http'], { stdio: ['ignore', 'pipe', 'inherit'], env });
  const end = () => void child.kill();
  try {
    const lines = createInterface(child.stdout);
    const [line] = (await once(lines, 'line', { signal: t.signal })) as [string];
    return { port: Number(/listens on (\d+)/.exec(line)?.[1]), end };
  } catch (error) {
    end();
    throw error;
  }
}

/** Where clients go: an agent-server, or whatever serves MCP below a URL. */
export type Endpoint = Pick<TestServer, 'url' | 'post'>;

/** One request, whose messages come as they arrive. */
export interface Exchange extends AsyncIterable<Message> {
  /** The next message. */
  next(): Promise<Message>;
  /** Messages up to the answer, which is the last. */
  all(): Promise<Message[]>;
  status(): Promise<number>;
  abort(): void;
}

let ids = 100;

function send(agent: Endpoint, message: object, headers: Record<string, string>): Exchange {
  const stop = new AbortController();
  const response = fetch(`${agent.url}/mcp`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
    },
    body: JSON.stringify(message),
    signal: stop.signal,
  });
  const messages = read(response);
  const next = async () => {
    const { value } = await messages.next();
    if (value === undefined) throw new Error('the answer ended');
    return value as Message;
  };
  return {
    [Symbol.asyncIterator]: () => messages,
    next,
    async all() {
      const heard: Message[] = [];
      for await (const message of messages) heard.push(message);
      return heard;
    },
    status: async () => (await response).status,
    abort: () => stop.abort(),
  };
}

async function* read(pending: Promise<Response>): AsyncGenerator<Message> {
  const response = await pending;
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) {
    const text = await response.text();
    if (text !== '') yield JSON.parse(text) as Message;
    return;
  }
  const decoder = createSseDecoder();
  for await (const chunk of response.body ?? []) {
    for (const { data } of decoder.push(chunk)) if (data !== '') yield JSON.parse(data) as Message;
  }
}

export type Params = Record<string, unknown>;

export interface Client {
  request(method: string, params?: Params): Exchange;
  call(name: string, args?: Params, more?: Params): Exchange;
}

/** A client with a session. */
export interface SessionClient extends Client {
  readonly session: string;
  answer(id: Message['id'], result: object): Promise<unknown>;
  refuse(id: Message['id'], error: object): Promise<unknown>;
  cancel(id: number): Promise<unknown>;
  /** The session's own stream. */
  listen(): Exchange;
  /** The id of the last request. */
  readonly lastId: number;
}

export async function sessionClient(agent: Endpoint, capabilities: object = {}): Promise<SessionClient> {
  const session = await openSession(agent, capabilities);
  const headers = { 'mcp-session-id': session, 'mcp-protocol-version': '2025-11-25' };
  const post = (message: object) => agent.post(message, headers);
  const request = (method: string, params: Params = {}) => {
    ids += 1;
    return send(agent, { jsonrpc: '2.0', id: ids, method, params }, headers);
  };
  return {
    session,
    get lastId() {
      return ids;
    },
    request,
    call: (name, args = {}, more = {}) => request('tools/call', { name, arguments: args, ...more }),
    answer: (id, result) => post({ jsonrpc: '2.0', id, result }),
    refuse: (id, error) => post({ jsonrpc: '2.0', id, error }),
    cancel: (id) => post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } }),
    listen: () => listenTo(agent, headers),
  };
}

function listenTo(agent: Endpoint, headers: Record<string, string>): Exchange {
  const stop = new AbortController();
  const response = fetch(`${agent.url}/mcp`, {
    headers: { accept: 'text/event-stream', ...headers },
    signal: stop.signal,
  });
  const messages = read(response);
  const next = async () => (await messages.next()).value as Message;
  return {
    [Symbol.asyncIterator]: () => messages,
    next,
    all: () => Promise.reject(new Error('it never ends')),
    status: async () => (await response).status,
    abort: () => stop.abort(),
  };
}

/** A client of 2026-07-28. */
export function statelessClient(agent: Endpoint, capabilities: object = {}, logLevel?: string): Client {
  const request = (method: string, params: Params = {}) => {
    const given = params['_meta'] as object | undefined;
    const _meta = {
      ...given,
      [metaKeys.protocolVersion]: '2026-07-28',
      [metaKeys.clientCapabilities]: capabilities,
      ...(logLevel !== undefined && { [metaKeys.logLevel]: logLevel }),
    };
    const name = params['name'] ?? params['uri'] ?? params['taskId'];
    const headers = {
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...(typeof name === 'string' && { 'mcp-name': name }),
    };
    ids += 1;
    return send(agent, { jsonrpc: '2.0', id: ids, method, params: { ...params, _meta } }, headers);
  };
  return {
    request,
    call: (name, args = {}, more = {}) => request('tools/call', { name, arguments: args, ...more }),
  };
}

/** The text of a tool's result. */
export function textOf(message: Message): string {
  const [content] = (message.result?.['content'] ?? []) as { text?: string }[];
  return content?.text ?? JSON.stringify(message);
}

/** The members of an `input_required` result. */
export function askedIn(message: Message): {
  keys: string[];
  requests: { method: string; params?: Params }[];
  state: string | undefined;
} {
  const result = message.result ?? {};
  if (result['resultType'] !== 'input_required') throw new Error(`asks nothing: ${JSON.stringify(message)}`);
  const requests = (result['inputRequests'] ?? {}) as Record<string, { method: string; params?: Params }>;
  return {
    keys: Object.keys(requests),
    requests: Object.values(requests),
    state: result['requestState'] as string | undefined,
  };
}

export const accept = (field: string, value: string) => ({ action: 'accept', content: { [field]: value } });
