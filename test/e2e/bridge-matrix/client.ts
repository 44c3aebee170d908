import {
  type Exchange,
  type Message,
  type Params,
  type SessionClient,
  sessionClient,
  statelessClient,
} from '#agent-server/bridge/testing.ts';
import type { Answer, JsonRpcAnswer } from '#agent-server/testing/harness.ts';
import { metaKeys } from '#mcp/eras.ts';
import type { Revision } from './ways.ts';

/** A client of one revision, whose face is the same for all: what differs is what it sends and takes. */
export interface MatrixClient {
  readonly revision: Revision;
  /** What the server said of itself. */
  readonly capabilities: Record<string, unknown>;
  /** The answer to a request, whatever came before it. */
  ask(method: string, params?: Params): Promise<Message>;
  /** A request; its questions are answered by their methods, in requests or in rounds of results, as the revision has it. */
  request(method: string, params: Params, options?: CallOptions): Promise<Called>;
  /** The same for a tool. */
  call(name: string, args?: Params, options?: CallOptions): Promise<Called>;
  /** Starts a call and gives up when `until` resolves. */
  giveUp(name: string, until: () => Promise<void>): Promise<void>;
  /** Begins to hear of changes: all lists', and these resources'. */
  listen(uris: readonly string[]): Promise<Heard>;
  notify(method: string): Promise<void>;
}

export interface CallOptions {
  /** Members of params besides name and arguments. */
  readonly params?: Params;
  /** Results of questions, by method. */
  readonly answers?: Readonly<Record<string, object>>;
  /** Answers nothing. Of 2026: comes back until nothing is asked any more. */
  readonly silent?: boolean;
}

export interface Called {
  readonly answer: Message;
  /** Questions in their order. Of 2025, with the id of their request; of 2026, with their key. */
  readonly asked: readonly Question[];
  /** Notifications of the call's stream. */
  readonly told: readonly Message[];
}

export interface Question {
  readonly method: string;
  readonly params: Params;
}

export interface Heard {
  /** The next notification. */
  next(): Promise<Message>;
  /** Hears of nothing any more. */
  close(): Promise<void>;
}

export interface ClientOptions {
  readonly capabilities?: object;
  /** Of 2026: in every request. */
  readonly logLevel?: string;
}

export function connect(url: string, revision: Revision, options: ClientOptions = {}): Promise<MatrixClient> {
  return revision === '2026-07-28' ? connectStateless(url, options) : connectSession(url, options);
}

async function post(url: string, message: unknown, headers: Record<string, string> = {}): Promise<Answer> {
  const accept = 'application/json, text/event-stream';
  const response = await fetch(`${url}/mcp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept, ...headers },
    body: JSON.stringify(message),
  });
  const text = await response.text();
  const json = (text === '' ? {} : JSON.parse(text.match(/^data: (.+)$/m)?.[1] ?? text)) as JsonRpcAnswer;
  return { status: response.status, headers: Object.fromEntries(response.headers), text, json };
}

/** What a client of 2025 answers to other questions. */
export const refusal = { code: -32_601, message: 'This client does not answer that' };

async function connectSession(url: string, options: ClientOptions): Promise<MatrixClient> {
  let capabilities: unknown;
  const endpoint = {
    url,
    async post(message: unknown, headers?: Record<string, string>) {
      const answer = await post(url, message, headers);
      capabilities ??= answer.json.result?.['capabilities'];
      return answer;
    },
  };
  const client = await sessionClient(endpoint, options.capabilities);
  const headers = { 'mcp-session-id': client.session, 'mcp-protocol-version': '2025-11-25' };
  return {
    revision: '2025-11-25',
    capabilities: capabilities as Record<string, unknown>,
    ask: async (method, params) => lastOf(client.request(method, params)),
    request: (method, params, more = {}) => callInSession(client, client.request(method, params), more),
    call: (name, args, more = {}) => callInSession(client, client.call(name, args, more.params), more),
    async giveUp(name, until) {
      const call = client.call(name);
      const id = client.lastId;
      await until();
      await client.cancel(id);
      await abort(call);
    },
    async listen(uris) {
      const stream = client.listen();
      await stream.status();
      for (const uri of uris) await lastOf(client.request('resources/subscribe', { uri }));
      return {
        next: () => nextOf(stream),
        async close() {
          for (const uri of uris) await lastOf(client.request('resources/unsubscribe', { uri }));
          stream.abort();
        },
      };
    },
    notify: async (method) => void (await post(url, { jsonrpc: '2.0', method }, headers)),
  };
}

async function callInSession(
  client: SessionClient,
  exchange: Exchange,
  { answers = {}, silent = false }: CallOptions,
): Promise<Called> {
  const asked: Question[] = [];
  const told: Message[] = [];
  for await (const message of exchange) {
    const { id, method, params = {} } = message;
    if (method === undefined) return { answer: message, asked, told };
    if (id === undefined) told.push(message);
    else {
      asked.push({ method, params });
      if (silent) continue;
      const answer = answers[method];
      await (answer === undefined ? client.refuse(id, refusal) : client.answer(id, answer));
    }
  }
  throw new Error('the stream of the call ended without its answer');
}

async function connectStateless(url: string, options: ClientOptions): Promise<MatrixClient> {
  const endpoint = {
    url,
    post: (message: unknown, headers?: Record<string, string>) => post(url, message, headers),
  };
  const client = statelessClient(endpoint, options.capabilities, options.logLevel);
  const discovered = await lastOf(client.request('server/discover'));
  return {
    revision: '2026-07-28',
    capabilities: discovered.result?.['capabilities'] as Record<string, unknown>,
    ask: (method, params) => lastOf(client.request(method, params)),
    request: (method, params, more = {}) =>
      callInRounds((again) => client.request(method, { ...params, ...again }), more),
    call: (name, args = {}, more = {}) =>
      callInRounds((again) => client.call(name, args, { ...more.params, ...again }), more),
    async giveUp(name, until) {
      const call = client.call(name);
      await until();
      await abort(call);
    },
    async listen(uris) {
      const all = { toolsListChanged: true, resourcesListChanged: true, promptsListChanged: true };
      const notifications = { ...all, resourceSubscriptions: uris };
      const stream = client.request('subscriptions/listen', { notifications });
      const granted = await stream.next();
      if (granted.method !== 'notifications/subscriptions/acknowledged')
        throw new Error(`not acknowledged: ${JSON.stringify(granted)}`);
      return { next: () => nextOf(stream), close: async () => stream.abort() };
    },
    async notify(method) {
      const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method };
      await post(url, { jsonrpc: '2.0', method, params: { _meta: metaOf(options) } }, headers);
    },
  };
}

function metaOf({ capabilities = {} }: ClientOptions): Params {
  return { [metaKeys.protocolVersion]: '2026-07-28', [metaKeys.clientCapabilities]: capabilities };
}

async function callInRounds(
  send: (again: Params) => Exchange,
  { answers = {}, silent = false }: CallOptions,
): Promise<Called> {
  const asked: Question[] = [];
  const told: Message[] = [];
  let again: Params = {};
  for (let round = 0; round < (silent ? 400 : 10); round += 1) {
    if (silent && round > 0) await new Promise((resolve) => setTimeout(resolve, 50));
    const messages = await send(again).all();
    const answer = messages.pop();
    if (answer === undefined) throw new Error('the call was not answered');
    told.push(...messages);
    const { resultType, inputRequests = {}, requestState } = (answer.result ?? {}) as Round;
    if (resultType !== 'input_required') return { answer, asked, told };
    const responses: Params = {};
    for (const [key, { method, params = {} }] of Object.entries(inputRequests)) {
      asked.push({ method, params });
      if (answers[method] !== undefined) responses[key] = answers[method];
    }
    again = { inputResponses: responses, ...(requestState !== undefined && { requestState }) };
  }
  throw new Error('the call asks without an end');
}

interface Round {
  readonly resultType?: string;
  readonly inputRequests?: Record<string, { method: string; params?: Params }>;
  readonly requestState?: string;
}

async function nextOf(stream: Exchange): Promise<Message> {
  const message: Message | undefined = await stream.next();
  if (message?.method === undefined) throw new Error(`no notification, but ${JSON.stringify(message)}`);
  return message;
}

async function abort(call: Exchange): Promise<void> {
  call.abort();
  await call.status().catch(() => undefined);
}

async function lastOf(exchange: Exchange): Promise<Message> {
  const last = (await exchange.all()).at(-1);
  if (last === undefined) throw new Error(`no answer: ${await exchange.status()}`);
  return last;
}
