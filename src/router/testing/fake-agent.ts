import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '#kit/clock.ts';
import {
  bindBlob,
  bindHttpService,
  bindMessage,
  bindStatic,
  bindTaskStatus,
  type CallBinding,
  endSessionBinding,
  queueBinding,
  streamBinding,
} from '#wire/binding.ts';
import { blobsPath } from '#wire/blobs.ts';
import { answerChallenge, isNonce, proofPath } from '#wire/challenge.ts';
import type { InvocationClaims } from '#wire/claims.ts';
import { type AgentIdentity, deriveAgentKey, principalOf, type WireKey } from '#wire/keys.ts';
import { queuePath } from '#wire/queue-state.ts';
import { createReplayWindow } from '#wire/replay.ts';
import { createVerifier } from '#wire/token.ts';
import { answerMcp, tell } from './fake-mcp.ts';
import { type AgentState, type FakeAgentOptions, type Seen, send } from './fake-state.ts';

export interface FakeAgent {
  readonly identity: AgentIdentity;
  readonly instance: string;
  readonly address: string;
  readonly seen: Seen[];
  /** Connections that proved themselves. */
  readonly connections: () => number;
  /** Refusals of tokens, by reason. */
  readonly refused: string[];
  /** Requests whose client went away before the answer ended. */
  readonly aborted: string[];
  /** Sends a notification on every open stream, to listeners with their subscription's id. */
  tell(method: string, params: Record<string, unknown>): void;
  /** Breaks every open stream. */
  breakStreams(): void;
  stop(): Promise<void>;
}

/**
 * An agent-server as far as the router can tell: a real Unix socket, the challenge, tokens verified for every
 * request, sessions kept under the token's session key, both eras. It is the router's honest counterpart in
 * tests; nothing of it runs in the product.
 */
export async function startFakeAgent(options: FakeAgentOptions): Promise<FakeAgent> {
  const clock = options.clock ?? systemClock;
  const identity = { namespace: 'default', name: options.name, uid: `uid-default-${options.name}` };
  const instance = options.instance ?? `${options.name}-1`;
  const real = deriveAgentKey(options.master, identity);
  const key: WireKey = options.impostor ? { ...real, secret: Buffer.alloc(32, 1) } : real;
  const audience = principalOf('default', options.name);
  const verifier = createVerifier({
    keys: [real],
    audience,
    instance,
    clock,
    replay: createReplayWindow({ clock }),
  });
  const state: AgentState = {
    ...{ options, verifier, seen: [], refused: [], aborted: [], sessions: new Map(), streams: new Set() },
  };
  let connections = 0;
  const server = createServer((request, response) => {
    if (request.url?.startsWith(proofPath)) connections += prove(request, response, key, instance) ? 1 : 0;
    else serve(state, request, response).catch((error) => response.destroy(error));
  });
  const { address, stop } = await listen(server);
  return {
    identity,
    instance,
    address,
    seen: state.seen,
    refused: state.refused,
    aborted: state.aborted,
    connections: () => connections,
    tell: (method, params) => tell(state, method, params),
    breakStreams() {
      for (const { response } of state.streams) response.destroy();
    },
    stop,
  };
}

async function listen(server: Server): Promise<{ address: string; stop: () => Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), 'agent-'));
  const path = join(folder, 's');
  server.listen(path);
  await once(server, 'listening');
  return {
    address: `unix:${path}`,
    stop: async () => {
      server.closeAllConnections();
      if (server.listening) await new Promise((resolve) => server.close(resolve));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function prove(request: IncomingMessage, response: ServerResponse, key: WireKey, instance: string): boolean {
  const nonce = new URL(request.url ?? '', 'http://agent').searchParams.get('nonce');
  if (!isNonce(nonce)) {
    response.writeHead(400).end();
    return false;
  }
  const body = JSON.stringify(answerChallenge(key, instance, nonce));
  response.writeHead(200, { 'content-length': Buffer.byteLength(body) }).end(body);
  return true;
}

async function serve(state: AgentState, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = Buffer.concat(chunks).toString('utf8');
  const url = request.url ?? '/';
  const token = request.headers.authorization?.replace(/^Bearer /, '');
  response.once('close', () => {
    if (!response.writableFinished) state.aborted.push(`${request.method} ${url}`);
  });
  let claims: InvocationClaims;
  try {
    claims = state.verifier.verify(token, bindingOf(request, url, body));
  } catch (error) {
    state.refused.push(String(error));
    response
      .writeHead(401, { 'content-type': 'application/json' })
      .end(JSON.stringify({ error: String(error) }));
    return;
  }
  state.seen.push({
    method: request.method ?? '',
    url,
    headers: request.headers,
    claims,
    token: token ?? '',
    body,
  });
  answer(state, request, response, { url, body, claims });
}

function bindingOf(request: IncomingMessage, url: string, body: string): CallBinding {
  const { pathname, search, searchParams } = new URL(url, 'http://agent');
  if (pathname === '/mcp' && request.method === 'GET') return streamBinding;
  if (pathname === '/mcp' && request.method === 'DELETE') return endSessionBinding;
  if (pathname === '/mcp') return bindMessage(JSON.parse(body));
  if (pathname === '/getTaskStatus') return bindTaskStatus(searchParams.get('taskId') ?? '');
  if (pathname.startsWith(blobsPath)) return bindBlob(request.method ?? '', pathname, search);
  if (pathname === queuePath) return queueBinding;
  const path = url.split('?', 1)[0] ?? '';
  if (path.startsWith('/static/')) return bindStatic(path);
  return bindHttpService(request.method ?? '', path, search);
}

interface Verified {
  readonly url: string;
  readonly body: string;
  readonly claims: InvocationClaims;
}

function answer(
  state: AgentState,
  request: IncomingMessage,
  response: ServerResponse,
  verified: Verified,
): void {
  const path = verified.url.split('?', 1)[0] ?? '';
  if (path === '/mcp') {
    answerMcp(state, request, response, verified.body, verified.claims);
    return;
  }
  if (path === '/getTaskStatus') {
    send(response, 200, {
      task: { id: new URL(verified.url, 'http://agent').searchParams.get('taskId') },
    });
    return;
  }
  if (path === queuePath) {
    if (state.options.queue !== undefined) send(response, 200, state.options.queue());
    return;
  }
  for (const [name, value] of Object.entries(state.options.headers ?? {})) response.setHeader(name, value);
  if (path.startsWith('/static/')) {
    response.writeHead(200, { 'content-type': 'text/html', 'set-cookie': 'a=b' }).end(`static ${path}`);
    return;
  }
  if (path === '/api/slow') return;
  send(response, 200, {
    path: verified.url,
    method: request.method,
    body: verified.body,
    headers: request.headers,
  });
}
