/**
 * Agents that mean harm: each proves itself to a router and then answers as its mode says. What lists they have is the
 * mode's matter; how a call is answered is named by the tool.
 *   hostile-agent.ts, with JSON on standard input: [{mode, socket, secret, kid, instance}, …] → prints `ports {mode: N}`
 *   when all listen: the same on TCP, for an agent-server before it. `GET /state` there gives `{open, waiting}`.
 */
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as readAll } from 'node:stream/consumers';
import { answerChallenge, proofPath } from '#wire/challenge.ts';
import { answers } from './hostile-answers.ts';
import { lists } from './hostile-lists.ts';

interface Order {
  readonly mode: string;
  readonly socket: string;
  readonly secret: string;
  readonly kid: string;
  readonly instance: string;
}

interface Message {
  readonly id?: number | string;
  readonly method: string;
  readonly params?: Record<string, unknown>;
}

/** Calls that are being answered. */
let open = 0;

function send(response: ServerResponse, body: string | Buffer): void {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) });
  response.end(body);
}

function answer(mode: string, message: Message, response: ServerResponse): void {
  const { id, method, params = {} } = message;
  if (id === undefined) {
    response.writeHead(202).end();
    return;
  }
  const name = String(params['name']);
  const attack = method === 'tools/call' && Object.hasOwn(answers, name) ? answers[name] : undefined;
  if (attack !== undefined) {
    open += 1;
    response.once('close', () => {
      open -= 1;
    });
    attack(response, id);
    return;
  }
  const listed = lists[mode]?.(method, params, response, id);
  if (listed !== undefined)
    send(response, typeof listed === 'string' || listed instanceof Buffer ? listed : wrap(id, listed));
}

function wrap(id: string | number, result: object): string {
  return JSON.stringify({ jsonrpc: '2.0', id, result });
}

function handle({ mode, secret, kid, instance }: Order): RequestListener {
  const key = { kid, secret: Buffer.from(secret, 'base64url') };
  return (request: IncomingMessage, response: ServerResponse) => {
    const url = request.url ?? '';
    response.on('error', () => undefined);
    if (url.startsWith(proofPath)) {
      const nonce = new URLSearchParams(url.slice(url.indexOf('?'))).get('nonce') ?? '';
      send(response, JSON.stringify(answerChallenge(key, instance, nonce)));
    } else if (url === '/state') send(response, JSON.stringify({ open }));
    else if (request.method === 'GET' && mode === 'flood') answers['flood']?.(response, 0);
    else if (request.method !== 'POST') response.writeHead(405).end();
    else
      readAll(request)
        .then((body) => answer(mode, JSON.parse(body), response))
        .catch(() => response.destroy());
  };
}

const orders = JSON.parse(await readAll(process.stdin)) as Order[];
const ports: Record<string, number> = {};
for (const order of orders) {
  const listener = handle(order);
  const server = createServer({ keepAliveTimeout: 600_000 }, listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  await new Promise<void>((resolve) =>
    createServer({ keepAliveTimeout: 600_000 }, listener).listen(order.socket, resolve),
  );
  ports[order.mode] = (server.address() as AddressInfo).port;
}
console.log(`ports ${JSON.stringify(ports)}`);
