import assert from 'node:assert/strict';

/** Where MCP is spoken: to one agent reached directly, to one behind its agent-server, and to all of them. */
export const surfaces = ['/mcps/honest/mcp', '/mcps/real/mcp', '/mcp'] as const;

export interface Answer {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
  /** The JSON of the body; undefined when it is none. */
  // biome-ignore lint/suspicious/noExplicitAny: answers of every shape are looked into
  readonly json: any;
  readonly ms: number;
}

export const jsonHeaders = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
};

/** One request by an ordinary client. */
export async function send(
  port: number,
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
  method = 'POST',
): Promise<Answer> {
  const begun = performance.now();
  const text = typeof body === 'string' || body instanceof Buffer ? body : JSON.stringify(body);
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    headers: { ...jsonHeaders, ...headers },
    ...(body !== undefined && { body: text }),
    signal: AbortSignal.timeout(60_000),
  });
  const said = await answer.text();
  const ms = performance.now() - begun;
  return { status: answer.status, text: said, headers: answer.headers, json: parse(said), ms };
}

function parse(text: string): unknown {
  const last = text
    .match(/^data: .*$/gm)
    ?.at(-1)
    ?.slice(6);
  try {
    return JSON.parse(last ?? text);
  } catch {
    return undefined;
  }
}

/** Opens a session; gives the headers of its requests. */
export async function openSession(port: number, path: string): Promise<Record<string, string>> {
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } };
  const answer = await send(port, path, { jsonrpc: '2.0', id: 0, method: 'initialize', params });
  const id = answer.headers.get('mcp-session-id');
  assert.ok(id !== null, `no session at ${path}: ${answer.status} ${answer.text.slice(0, 300)}`);
  return { 'mcp-session-id': id, 'mcp-protocol-version': '2025-11-25' };
}

export function callOf(text: string, id: string | number = 1, more: object = {}, name = 'echo'): object {
  return { jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: { text }, ...more } };
}

/** Behind several agents of one tool the client says whose it means. */
export function echoOf(path: string, text: string, id: string | number = 1): object {
  return path === '/mcp' ? callOf(text, id, { agent: 'honest' }) : callOf(text, id);
}

/** Calls `echo` by a session of its own and checks what comes back: the router serves. */
export async function assertServes(port: number, path: string = surfaces[0]): Promise<Answer> {
  const headers = await openSession(port, path);
  const answer = await send(port, path, echoOf(path, 'still here'), headers);
  assert.equal(answer.json?.result?.content?.[0]?.text, 'still here', answer.text.slice(0, 300));
  return answer;
}
