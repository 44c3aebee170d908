import type { Target } from './wrk.ts';

const revision = '2025-11-25';

/** Opens a session where there are sessions; gives the headers of its requests. Rejects for a refusal. */
export async function openSession(port: number, path: string): Promise<Record<string, string>> {
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  const url = `http://127.0.0.1:${port}${path}`;
  const post = (message: object, more: Record<string, string> = {}) =>
    fetch(url, {
      method: 'POST',
      headers: { ...headers, ...more },
      body: JSON.stringify(message),
      signal: AbortSignal.timeout(15_000),
    });
  const clientInfo = { name: 'bench', version: '1' };
  const params = { protocolVersion: revision, capabilities: {}, clientInfo };
  const answer = await post({ jsonrpc: '2.0', id: 'open', method: 'initialize', params });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`initialize: ${answer.status} ${text.slice(0, 200)}`);
  const settled = /"protocolVersion":"([^"]+)"/.exec(text)?.[1] ?? revision;
  const id = answer.headers.get('mcp-session-id');
  const session = { 'mcp-protocol-version': settled, ...(id !== null && { 'mcp-session-id': id }) };
  const noted = await post({ jsonrpc: '2.0', method: 'notifications/initialized' }, session);
  await noted.text();
  return { ...headers, ...session };
}

/** `tools/call` of the tool that gives its argument back, in a session of its own. */
export async function callTarget(port: number, path: string, tool = 'noop'): Promise<Target> {
  const text = 'what went out comes back';
  const call = {
    jsonrpc: '2.0',
    id: '#ID#',
    method: 'tools/call',
    params: { name: tool, arguments: { text } },
  };
  const body = JSON.stringify(call).replace('"#ID#"', '#ID#');
  return { port, path, headers: await openSession(port, path), body, expected: text };
}

export async function listTarget(port: number, path: string, expected = '"noop"'): Promise<Target> {
  const body = '{"jsonrpc":"2.0","id":#ID#,"method":"tools/list","params":{}}';
  return { port, path, headers: await openSession(port, path), body, expected };
}
