import { request } from 'undici';
import { isObject } from '#kit/json.ts';
import { metaKeys } from '#mcp/eras.ts';

const revision = '2026-07-28';
const accept = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };

/** One tool call of the stateless revision, as it goes over the wire. */
export function statelessCall(name: string, args: Readonly<Record<string, unknown>> = {}) {
  const meta = { [metaKeys.protocolVersion]: revision, [metaKeys.clientCapabilities]: {} };
  const params = { _meta: meta, name, arguments: args };
  return {
    headers: { ...accept, 'mcp-protocol-version': revision, 'mcp-method': 'tools/call', 'mcp-name': name },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
  };
}

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

/** A POST. Unlike fetch it sends the Host header that it is given. */
export async function post(
  url: string,
  headers: Readonly<Record<string, string>>,
  body: string,
): Promise<Answer> {
  const response = await request(url, { method: 'POST', headers, body, headersTimeout: 120_000 });
  return { status: response.statusCode, headers: response.headers, text: await response.body.text() };
}

/** Makes a call; the text that came. Rejects with the status and what else came. */
export async function callTool(
  url: string,
  name: string,
  args: Readonly<Record<string, unknown>> = {},
  headers: Readonly<Record<string, string>> = {},
): Promise<string> {
  const call = statelessCall(name, args);
  const { status, text } = await post(url, { ...call.headers, ...headers }, call.body);
  const result = status === 200 ? resultOf(text) : undefined;
  if (result === undefined || result['isError'] === true) throw new Error(`${status} ${text}`);
  const [first] = Array.isArray(result['content']) ? (result['content'] as { text?: string }[]) : [];
  return first?.text ?? text;
}

function resultOf(body: string): Record<string, unknown> | undefined {
  const json: unknown = JSON.parse(/^data: (.+)$/m.exec(body)?.[1] ?? body);
  const result = isObject(json) ? json['result'] : undefined;
  return isObject(result) ? result : undefined;
}

/** Opens a session of the revisions that have them; the headers of its requests. */
export async function openSession(
  url: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Record<string, string>> {
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } };
  const message = { jsonrpc: '2.0', id: 0, method: 'initialize', params };
  const answer = await post(url, { ...accept, ...headers }, JSON.stringify(message));
  const id = answer.headers['mcp-session-id'];
  if (typeof id !== 'string') throw new Error(`no session: ${answer.status} ${answer.text}`);
  return { ...accept, 'mcp-session-id': id, 'mcp-protocol-version': '2025-11-25' };
}
