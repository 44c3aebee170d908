import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { systemClock } from '#kit/clock.ts';
import { runBridge } from './bridge.ts';
import { createLink } from './link.ts';

export interface Heard {
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** The body's JSON; empty when there is none. */
  readonly message: {
    readonly id?: unknown;
    readonly method?: string;
    readonly params?: { [key: string]: unknown };
  };
}

type Answer = (heard: Heard, response: ServerResponse) => void;

/** A client and an MCP endpoint of a test's own, with the bridge between them. */
export interface Scene {
  /** Everything that reached the endpoint. */
  readonly heard: readonly Heard[];
  /** Everything that was told to the person. */
  readonly notes: readonly string[];
  /** Sends a line as the client; what is no text becomes JSON. */
  say(line: string | object): void;
  /** The next line that the client gets. */
  next(): Promise<string>;
  /** The same, parsed. */
  nextMessage(): Promise<Record<string, unknown>>;
  /** Lines that nobody has taken yet. */
  readonly left: readonly string[];
  /** Closes the client's end and waits for the bridge's. */
  end(): Promise<void>;
}

export interface SceneOptions {
  readonly maxMessageBytes?: number;
  readonly drainMs?: number;
  readonly connectTimeoutMs?: number;
  /** The endpoint is nowhere. */
  readonly isAway?: true;
  /** It is nowhere for so many milliseconds, then at another address. */
  readonly movesAfterMs?: number;
}

export async function createScene(answer: Answer, options: SceneOptions = {}): Promise<Scene> {
  const heard: Heard[] = [];
  const server = createServer(async (request, response) => {
    const body = await text(request);
    const message = body === '' ? {} : (JSON.parse(body) as Heard['message']);
    const one = { method: request.method ?? '', headers: request.headers, body, message };
    heard.push(one);
    answer(one, response);
  });
  const listen = async () => {
    await once(server.listen(0, '127.0.0.1'), 'listening');
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  };
  const isThere = !options.isAway && options.movesAfterMs === undefined;
  const url = isThere ? await listen() : await closedAddress();
  const moved = options.movesAfterMs && systemClock.sleep(options.movesAfterMs).then(listen);
  let now: string | undefined;
  void Promise.resolve(moved).then((there) => {
    now = there || undefined;
  });
  const input = new PassThrough();
  const lines: string[] = [];
  const notes: string[] = [];
  const waiting: ((line: string) => void)[] = [];
  const running = runBridge({
    link: createLink({
      router: { url, relocate: async () => now },
      path: '/mcp',
      clock: systemClock,
      connectTimeoutMs: options.connectTimeoutMs ?? 2_000,
    }),
    clock: systemClock,
    input,
    send(line) {
      const next = waiting.shift();
      if (next === undefined) lines.push(line);
      else next(line);
    },
    drained: async () => undefined,
    note: (note) => void notes.push(note),
    signal: new AbortController().signal,
    maxMessageBytes: options.maxMessageBytes ?? 1024 * 1024,
    drainMs: options.drainMs ?? 1_000,
  });
  const next = () => {
    const line = lines.shift();
    return line === undefined
      ? new Promise<string>((resolve) => waiting.push(resolve))
      : Promise.resolve(line);
  };
  return {
    heard,
    notes,
    left: lines,
    say: (line) => void input.write(`${typeof line === 'string' ? line : JSON.stringify(line)}\n`),
    next,
    nextMessage: async () => JSON.parse(await next()) as Record<string, unknown>,
    async end() {
      input.end();
      await running;
      server.closeAllConnections();
      server.close();
    },
  };
}

async function closedAddress(): Promise<string> {
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  await once(server.close(), 'close');
  return `http://127.0.0.1:${port}`;
}

export function json(response: ServerResponse, value: object, status = 200, headers: object = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value));
}

export function events(response: ServerResponse, text: string): ServerResponse {
  if (!response.headersSent) response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(text);
  return response;
}

/** Answers as a server with sessions does, where `more` does not. True: it did. */
export function sessionServer(
  more: (heard: Heard, response: ServerResponse) => boolean = () => false,
): Answer {
  let sessions = 0;
  return (heard, response) => {
    const { method, message } = heard;
    if (more(heard, response)) return;
    if (method === 'GET') response.writeHead(405).end();
    else if (method === 'DELETE') response.writeHead(204).end();
    else if (message.method === 'initialize') {
      const result = {
        protocolVersion: '2025-11-25',
        capabilities: {},
        serverInfo: { name: 's', version: '1' },
      };
      json(response, { jsonrpc: '2.0', id: message.id, result }, 200, { 'mcp-session-id': `s${++sessions}` });
    } else if (message.id === undefined || message.method === undefined) response.writeHead(202).end();
    else json(response, { jsonrpc: '2.0', id: message.id, result: { of: heard.headers['mcp-session-id'] } });
  };
}

export const initialize = {
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } },
};
export const initialized = { jsonrpc: '2.0', method: 'notifications/initialized' };

/** A request of 2026-07-28. */
export function stateless(id: number | string, method: string, params: object = {}) {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  return { jsonrpc: '2.0', id, method, params: { ...params, _meta } };
}
