import { isObject } from '#kit/json.ts';
import { metaKeys } from '#mcp/eras.ts';

const revision = '2026-07-28';

/** One tool call of the stateless revision; the text that came. Rejects with what else came. */
export async function callTool(
  url: string,
  name: string,
  args: Readonly<Record<string, unknown>> = {},
  headers: Readonly<Record<string, string>> = {},
): Promise<string> {
  const meta = { [metaKeys.protocolVersion]: revision, [metaKeys.clientCapabilities]: {} };
  const params = { _meta: meta, name, arguments: args };
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': revision,
      'mcp-method': 'tools/call',
      'mcp-name': name,
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
    signal: AbortSignal.timeout(60_000),
  });
  const body = await response.text();
  const json: unknown = JSON.parse(/^data: (.*)$/m.exec(body)?.[1] ?? body);
  const result = isObject(json) ? json['result'] : undefined;
  if (!isObject(result) || result['isError'] === true) throw new Error(`${response.status} ${body}`);
  const [first] = Array.isArray(result['content']) ? (result['content'] as { text?: string }[]) : [];
  return first?.text ?? body;
}
