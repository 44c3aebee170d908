/**
 * An MCP server of 2025-11-25 with sessions that remembers what it ran: prints `port N`; GET /count says how many calls
 * ran, and of how many texts. `echo` gives its text back after `waitMs`, `ask` asks its client first, `change` changes
 * the list of tools.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { endWithParent } from '../../programs/end-with-parent.ts';

interface Message {
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: {
    readonly name?: string;
    readonly arguments?: { readonly text?: string; readonly waitMs?: number };
  };
  readonly result?: { readonly action?: string };
}

const inputSchema = { type: 'object' };
const capabilities = { tools: { listChanged: true } };
const texts = new Map<string, number>();
const sessions = new Set<string>();
const streams = new Set<ServerResponse>();
const asked = new Map<unknown, (answer: Message) => void>();
let minted = 0;
let changes = 0;

const say = (text: string) => ({ content: [{ type: 'text', text }] });
const event = (message: object) => `event: message\ndata: ${JSON.stringify(message)}\n\n`;

function send(response: ServerResponse, value: object, headers: Record<string, string> = {}): void {
  const text = JSON.stringify(value);
  const length = Buffer.byteLength(text);
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': length, ...headers });
  response.end(text);
}

function listTools(): object[] {
  const names = ['echo', 'ask', 'change', ...(changes % 2 === 1 ? ['changed'] : [])];
  return names.map((name) => ({ name, inputSchema }));
}

async function runTool({ id, params }: Message, response: ServerResponse): Promise<void> {
  const { text = '', waitMs = 0 } = params?.arguments ?? {};
  texts.set(text, (texts.get(text) ?? 0) + 1);
  if (params?.name === 'change') {
    changes += 1;
    for (const stream of streams) {
      stream.write(event({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' }));
    }
  }
  if (params?.name !== 'ask') {
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    send(response, { jsonrpc: '2.0', id, result: say(text) });
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const question = `question-of-${text}`;
  const answer = new Promise<Message>((resolve) => asked.set(question, resolve));
  const requestedSchema = { type: 'object', properties: { name: { type: 'string' } } };
  const elicitation = { message: 'Your name?', requestedSchema };
  response.write(event({ jsonrpc: '2.0', id: question, method: 'elicitation/create', params: elicitation }));
  const { result } = await answer;
  response.end(event({ jsonrpc: '2.0', id, result: say(`${text}: ${result?.action ?? 'an error'}`) }));
}

async function take(message: Message, response: ServerResponse): Promise<void> {
  const { id, method } = message;
  if (method === undefined) asked.get(id)?.(message);
  if (method === undefined || id === undefined) {
    response.writeHead(202).end();
    return;
  }
  const answer = (result: object, headers = {}) => send(response, { jsonrpc: '2.0', id, result }, headers);
  if (method === 'tools/call') await runTool(message, response);
  else if (method === 'tools/list') answer({ tools: listTools() });
  else if (method === 'initialize') {
    minted += 1;
    sessions.add(`s-${minted}`);
    const serverInfo = { name: 'faults', version: '1' };
    const headers = { 'mcp-session-id': `s-${minted}` };
    answer({ protocolVersion: '2025-11-25', capabilities, serverInfo }, headers);
  } else {
    send(response, { jsonrpc: '2.0', id, error: { code: -32_601, message: `Method not found: ${method}` } });
  }
}

function count(): object {
  const runs = [...texts.values()];
  return { runs: runs.reduce((sum, one) => sum + one, 0), texts: texts.size };
}

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method, url, headers } = request;
  const session = headers['mcp-session-id'];
  if (url === '/count') send(response, count());
  else if (typeof session === 'string' && !sessions.has(session)) response.writeHead(404).end();
  else if (method === 'GET') {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    streams.add(response);
    response.once('close', () => streams.delete(response));
  } else if (method === 'POST') await take((await json(request)) as Message, response);
  else {
    sessions.delete(String(session));
    response.writeHead(204).end();
  }
}

const server = createServer({ keepAliveTimeout: 600_000, requestTimeout: 0 }, (request, response) => {
  serve(request, response).catch(() => response.destroy());
});
server.listen(0, '127.0.0.1', 4096, () => console.log(`port ${(server.address() as AddressInfo).port}`));
endWithParent();
