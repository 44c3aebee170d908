import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { messageOf } from '#kit/errors.ts';
import type { Log } from '#kit/log.ts';
import { InvocationRejected } from '#wire/errors.ts';

/** `path` is the URL without its query, `search` the query with its question mark or empty. */
export interface Target {
  readonly path: string;
  readonly search: string;
}

export type Handler = (
  request: IncomingMessage,
  response: ServerResponse,
  target: Target,
) => void | Promise<void>;

export interface Routes {
  /** By whole path. */
  readonly exact: ReadonlyMap<string, Handler>;
  /** By the beginning of the path; the first that fits counts. */
  readonly prefixes: readonly (readonly [string, Handler])[];
}

/** Finds the handler of a request; what it throws becomes an answer. Anything unknown is 404 `Not Found`. */
export function createApp(routes: Routes, log: Log): RequestListener {
  return (request, response) => {
    const { path, search } = splitTarget(request.url ?? '/');
    const handler =
      routes.exact.get(path) ?? routes.prefixes.find(([prefix]) => path.startsWith(prefix))?.[1];
    if (!isFromHere(request)) sendPlain(response, 403, 'Forbidden: foreign Origin');
    else if (handler === undefined) sendPlain(response, 404, 'Not Found');
    else {
      run(handler, request, response, { path, search }).catch((error: unknown) => fail(response, error, log));
    }
  };
}

/** A handler that throws at once rejects too. */
async function run(
  handler: Handler,
  request: IncomingMessage,
  response: ServerResponse,
  target: Target,
): Promise<void> {
  await handler(request, response, target);
}

/**
 * No page of a browser has business here: the router does not pass Origin on. Loopback origins are let
 * through for development.
 */
function isFromHere(request: IncomingMessage): boolean {
  const origin = request.headers.origin;
  if (origin === undefined) return true;
  return /^https?:\/\/(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/.test(origin);
}

function splitTarget(url: string): Target {
  const query = url.indexOf('?');
  return query === -1 ? { path: url, search: '' } : { path: url.slice(0, query), search: url.slice(query) };
}

function fail(response: ServerResponse, error: unknown, log: Log): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  if (error instanceof InvocationRejected) {
    sendObject(response, 401, { error: 'invocation_rejected', reason: error.reason });
    return;
  }
  log.error('A request failed', { error });
  sendObject(response, 500, { error: 'internal', message: messageOf(error) });
}

export function sendPlain(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' }).end(text);
}

export function sendObject(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}

/** Answers 405 and returns false unless the method is one of `methods`. */
export function allowOnly(request: IncomingMessage, response: ServerResponse, ...methods: string[]): boolean {
  if (methods.includes(request.method ?? '')) return true;
  response.setHeader('allow', methods.join(', '));
  sendObject(response, 405, { error: 'method_not_allowed' });
  return false;
}
