/**
 * The cheapest MCP server that Node can be: one tool `noop` that answers with its argument, no checks, no sessions;
 * and below /api/ the cheapest HTTP API.
 * It proves itself to a router but does not look at tokens, so that a call through a router costs the router.
 *   raw-backend.ts SOCKET SECRET_BASE64URL KID INSTANCE → prints `port N`
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { answerChallenge, proofPath } from '#wire/challenge.ts';
import { endWithParent } from './end-with-parent.ts';

const [socket = '', secret = '', kid = '', instance = ''] = process.argv.slice(2);
const key = { kid, secret: Buffer.from(secret, 'base64url') };
const tools = [{ name: 'noop', inputSchema: { type: 'object', properties: { text: { type: 'string' } } } }];

/** What its own HTTP API gives: a kibibyte of JSON. */
const page = JSON.stringify({ text: 'x'.repeat(1_000) });

interface Message {
  readonly id?: number | string;
  readonly method: string;
  readonly params?: { readonly arguments?: { readonly text?: string }; readonly protocolVersion?: string };
}

function resultOf({ method, params }: Message): object {
  switch (method) {
    case 'tools/call':
      return { content: [{ type: 'text', text: params?.arguments?.text ?? '' }] };
    case 'tools/list':
      return { tools };
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
        serverInfo: { name: 'raw', version: '1' },
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
  if (request.method === 'GET' && url.startsWith('/api/')) {
    send(response, page);
    return;
  }
  if (request.method !== 'POST') {
    response.writeHead(405).end();
    return;
  }
  let body = '';
  request.setEncoding('utf8');
  request.on('data', (chunk: string) => {
    body += chunk;
  });
  request.on('end', () => {
    const message = JSON.parse(body) as Message;
    if (message.id === undefined) response.writeHead(202).end();
    else send(response, JSON.stringify({ jsonrpc: '2.0', id: message.id, result: resultOf(message) }));
  });
}

const server = createServer({ keepAliveTimeout: 600_000 }, answer);
server.listen(0, '127.0.0.1', () => {
  createServer({ keepAliveTimeout: 600_000 }, answer).listen(socket, () =>
    console.log(`port ${(server.address() as AddressInfo).port}`),
  );
});
endWithParent();
