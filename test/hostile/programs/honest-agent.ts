/**
 * An agent that writes down what reaches it: an MCP server of one tool `echo`, and an HTTP API below /api/. It proves
 * itself to a router and does not look at tokens, so that what comes through is what a router let through.
 *   honest-agent.ts SOCKET SECRET_BASE64URL KID INSTANCE → prints `port N`: the same server on TCP; GET /seen there
 *   gives how many requests of clients came, and the last of them, as JSON.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { answerChallenge, proofPath } from '#wire/challenge.ts';
import { endWithParent } from '../../bench/programs/end-with-parent.ts';

const [socket = '', secret = '', kid = '', instance = ''] = process.argv.slice(2);
const key = { kid, secret: Buffer.from(secret, 'base64url') };
/** The last of them, and how many there were. */
const seen = { count: 0, last: [] as string[] };
const mostSeen = 200;

interface Message {
  readonly id?: number | string;
  readonly method: string;
  readonly params?: { readonly arguments?: { readonly text?: string }; readonly protocolVersion?: string };
}

function resultOf({ method, params }: Message): object {
  switch (method) {
    case 'tools/call':
      return { content: [{ type: 'text', text: String(params?.arguments?.text ?? '') }] };
    case 'tools/list':
      return { tools: [{ name: 'echo', inputSchema: { type: 'object' } }] };
    case 'resources/list':
      return { resources: [] };
    case 'resources/templates/list':
      return { resourceTemplates: [] };
    case 'prompts/list':
      return { prompts: [] };
    default:
      return {
        protocolVersion: params?.protocolVersion ?? '2025-11-25',
        capabilities: { tools: {} },
        serverInfo: { name: 'honest', version: '1' },
      };
  }
}

function send(response: ServerResponse, text: string): void {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) });
  response.end(text);
}

function answer(request: IncomingMessage, response: ServerResponse): void {
  const url = request.url ?? '';
  if (url.startsWith(proofPath)) {
    const nonce = new URLSearchParams(url.slice(url.indexOf('?'))).get('nonce') ?? '';
    send(response, JSON.stringify(answerChallenge(key, instance, nonce)));
    return;
  }
  if (url === '/seen') {
    send(response, JSON.stringify(seen));
    return;
  }
  const parts: Buffer[] = [];
  request.on('data', (chunk: Buffer) => parts.push(chunk));
  request.on('end', () => take(request, response, Buffer.concat(parts).toString('utf8')));
}

/** Not what router and agent-server ask for themselves, whenever they like. */
function isOfClient(url: string, body: string): boolean {
  return (
    url.startsWith('/api/') || body.includes('"tools/call"') || body.includes('"clientInfo":{"name":"t"')
  );
}

function take(request: IncomingMessage, response: ServerResponse, body: string): void {
  const { method = '', url = '', headers } = request;
  if (isOfClient(url, body)) {
    seen.count += 1;
    seen.last.push(`${method} ${url} ${body.slice(0, 500)} ${JSON.stringify(headers)}`);
    if (seen.last.length > mostSeen) seen.last.shift();
  }
  if (url.startsWith('/api/')) send(response, JSON.stringify({ method, url, headers, bytes: body.length }));
  else if (method !== 'POST') response.writeHead(405).end();
  else {
    const message = JSON.parse(body) as Message;
    if (message.id === undefined) response.writeHead(202).end();
    else send(response, JSON.stringify({ jsonrpc: '2.0', id: message.id, result: resultOf(message) }));
  }
}

const server = createServer({ keepAliveTimeout: 600_000 }, answer);
server.listen(0, '127.0.0.1', () => {
  createServer({ keepAliveTimeout: 600_000 }, answer).listen(socket, () =>
    console.log(`port ${(server.address() as AddressInfo).port}`),
  );
});
endWithParent();
