import { metaKeys } from '#mcp/eras.ts';
import { nameHeaderOf } from '#mcp/headers.ts';
import type { TestRouter } from './harness.ts';

/** Requests as a client of each era sends them; for tests that look at the wire. */

export interface Reply {
  readonly status: number;
  readonly headers: Record<string, unknown>;
  readonly text: string;
  /** Parsed body. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  readonly json: any;
}

export interface PostOptions {
  readonly path?: string;
  readonly headers?: Record<string, string>;
  readonly method?: 'GET' | 'POST' | 'DELETE' | 'PUT' | 'HEAD' | 'OPTIONS';
}

export async function post(router: TestRouter, body: unknown, options: PostOptions = {}): Promise<Reply> {
  const answer = await router.inject({
    method: options.method ?? 'POST',
    url: options.path ?? '/mcp',
    headers: {
      host: 'localhost',
      accept: 'application/json, text/event-stream',
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...options.headers,
    },
    ...(body !== undefined && { payload: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  return { status: answer.statusCode, headers: answer.headers, text: answer.body, json: parse(answer.body) };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Opens a session of the sessions era; gives the headers of its requests. */
export async function openSession(
  router: TestRouter,
  path = '/mcp',
  headers: Record<string, string> = {},
): Promise<Record<string, string>> {
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } };
  const reply = await post(
    router,
    { jsonrpc: '2.0', id: 0, method: 'initialize', params },
    { path, headers },
  );
  const id = reply.headers['mcp-session-id'];
  if (typeof id !== 'string') throw new Error(`no session: ${reply.status} ${reply.text}`);
  return { ...headers, 'mcp-session-id': id, 'mcp-protocol-version': '2025-11-25' };
}

export function request(method: string, params?: unknown, id: string | number = 1): Record<string, unknown> {
  return { jsonrpc: '2.0', id, method, ...(params !== undefined && { params }) };
}

/** A request of 2026-07-28 with its headers. */
export function stateless(
  router: TestRouter,
  method: string,
  params: Record<string, unknown> = {},
  options: PostOptions & { readonly id?: string | number } = {},
): Promise<Reply> {
  const meta = { [metaKeys.protocolVersion]: '2026-07-28', [metaKeys.clientCapabilities]: {} };
  const message = {
    jsonrpc: '2.0' as const,
    id: options.id ?? 1,
    method,
    params: { _meta: meta, ...params },
  };
  const name = nameHeaderOf(message);
  const headers = {
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': method,
    ...(name !== undefined && { 'mcp-name': name }),
    ...options.headers,
  };
  return post(router, message, { ...options, headers });
}
