import {
  type Agent,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { bindHttpService } from '#wire/binding.ts';
import { loopbackConnections } from '../loopback.ts';
import type { Guard } from '../mcp/guard.ts';
import { type Handler, sendObject } from './app.ts';

/** Headers that belong to one connection (RFC 9110 §7.6.1), and the wire's credential. */
const hopHeaders = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'authorization',
]);

export interface ApiProxyOptions {
  readonly guard: Guard;
  /** Port of the agent's own HTTP server on 127.0.0.1; undefined when it has none. */
  readonly port: number | undefined;
}

/** ANY /api/*: streams the request to the agent's own HTTP server and the answer back. */
export function apiProxy({ guard, port }: ApiProxyOptions): Handler {
  const agent = loopbackConnections();
  return (request, response, { path, search }) => {
    guard.admit(request, bindHttpService(request.method ?? 'GET', path, search));
    if (port === undefined) {
      sendObject(response, 404, { error: 'The agent has no HTTP server: its environment names no PORT' });
      return;
    }
    forward(request, response, { agent, port, path: `${path}${search}` });
  };
}

function forward(
  request: IncomingMessage,
  response: ServerResponse,
  target: { readonly agent: Agent; readonly port: number; readonly path: string },
): void {
  const upstream = httpRequest({
    host: '127.0.0.1',
    port: target.port,
    agent: target.agent,
    method: request.method,
    path: target.path,
    headers: endToEnd(request.headers),
  });
  upstream.once('response', (answer) => {
    response.writeHead(answer.statusCode ?? 502, endToEnd(answer.headers));
    answer.pipe(response);
    answer.once('error', () => response.destroy());
  });
  upstream.once('error', (error) => {
    if (response.headersSent) response.destroy();
    else sendObject(response, 502, { error: `The agent's HTTP server does not answer: ${error.message}` });
  });
  response.once('close', () => upstream.destroy());
  request.pipe(upstream);
}

function endToEnd(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const named = String(headers.connection ?? '')
    .toLowerCase()
    .split(/\s*,\s*/);
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => !hopHeaders.has(name) && !named.includes(name)),
  );
}
