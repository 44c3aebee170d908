/**
 * An MCP server of 2025-11-25 with sessions and their streams that does as little as can be: prints `port N`.
 * GET /count says what it holds; POST /streams with `off` lets it refuse streams from then on.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { endWithParent } from '../../programs/end-with-parent.ts';

interface Message {
  readonly id?: number | string;
  readonly method: string;
  readonly params?: { readonly arguments?: { readonly text?: string } };
}

const tools = [{ name: 'echo', inputSchema: { type: 'object', properties: { text: { type: 'string' } } } }];
/** Sessions with the stream that is open for them, where there is one. */
const sessions = new Map<string, ServerResponse | undefined>();
let minted = 0;
let calls = 0;
let takesStreams = true;

function resultOf({ method, params }: Message): object | undefined {
  if (method === 'initialize') {
    return {
      protocolVersion: '2025-11-25',
      capabilities: { tools: {} },
      serverInfo: { name: 'soak', version: '1' },
    };
  }
  if (method === 'tools/list') return { tools };
  if (method !== 'tools/call') return undefined;
  calls += 1;
  return { content: [{ type: 'text', text: params?.arguments?.text ?? '' }] };
}

function send(response: ServerResponse, value: object, headers: Record<string, string> = {}): void {
  const text = JSON.stringify(value);
  const length = Buffer.byteLength(text);
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': length, ...headers });
  response.end(text);
}

function takeMessage(message: Message, response: ServerResponse): void {
  if (message.id === undefined) {
    response.writeHead(202).end();
    return;
  }
  const result = resultOf(message);
  const error = { code: -32_601, message: `Method not found: ${message.method}` };
  const headers: Record<string, string> = {};
  if (message.method === 'initialize') {
    minted += 1;
    headers['mcp-session-id'] = `s-${minted}`;
    sessions.set(`s-${minted}`, undefined);
  }
  send(response, { jsonrpc: '2.0', id: message.id, ...(result ? { result } : { error }) }, headers);
}

function openStream(session: string, response: ServerResponse): void {
  if (!takesStreams) {
    response.writeHead(405).end();
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
  sessions.set(session, response);
  response.once('close', () => {
    if (sessions.get(session) === response) sessions.set(session, undefined);
  });
}

function endSession(session: string, response: ServerResponse): void {
  sessions.get(session)?.end();
  sessions.delete(session);
  response.writeHead(204).end();
}

function count(): object {
  const streams = [...sessions.values()].filter((stream) => stream !== undefined).length;
  return { sessions: sessions.size, streams, calls, minted };
}

function takeBody(request: IncomingMessage, take: (text: string) => void): void {
  let body = '';
  request.setEncoding('utf8');
  request.on('data', (chunk: string) => {
    body += chunk;
  });
  request.on('end', () => take(body));
}

const server = createServer({ keepAliveTimeout: 600_000, requestTimeout: 0 }, (request, response) => {
  const { method, url } = request;
  const named = request.headers['mcp-session-id'];
  const session = typeof named === 'string' ? named : undefined;
  if (url === '/count') send(response, count());
  else if (url === '/streams') {
    takeBody(request, (word) => {
      takesStreams = word !== 'off';
      response.writeHead(204).end();
    });
  } else if (session !== undefined && !sessions.has(session)) response.writeHead(404).end();
  else if (method === 'GET' && session !== undefined) openStream(session, response);
  else if (method === 'DELETE' && session !== undefined) endSession(session, response);
  else if (method === 'POST') takeBody(request, (text) => takeMessage(JSON.parse(text) as Message, response));
  else response.writeHead(405).end();
});
server.listen(0, '127.0.0.1', 4096, () => console.log(`port ${(server.address() as AddressInfo).port}`));
endWithParent();
