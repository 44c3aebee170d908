import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { ApiError } from '../api-error.ts';
import type { Documents } from '../discovery/documents.ts';
import type { Engine } from '../engine.ts';
import type { FaultHook } from '../faults.ts';
import { Exchange } from './exchange.ts';
import { noSuchPath, resolveTarget } from './route.ts';
import { serveResource } from './serve-resource.ts';

export interface HandlerOptions {
  readonly engine: Engine;
  readonly documents: Documents;
  readonly faults: FaultHook | undefined;
  /** True when the request may proceed; undefined: everyone may. */
  readonly authorize: ((request: IncomingMessage) => boolean) | undefined;
}

/** The listener of every socket of the server. */
export function createHandler(options: HandlerOptions): RequestListener {
  return (request, response) => {
    handle(options, request, response).catch((error: unknown) =>
      answerError(options, request, response, error),
    );
  };
}

async function handle(
  options: HandlerOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const exchange = new Exchange(request, response);
  if (options.documents.health(exchange)) return;
  if (options.authorize !== undefined && !options.authorize(request))
    throw new ApiError('Unauthorized', 'Unauthorized');
  if (options.faults !== undefined && (await options.faults.before(exchange)) === 'answered') return;
  if (options.documents.serve(exchange)) return;
  const target = resolveTarget(options.engine.kinds, exchange.segments);
  if (target === undefined) throw noSuchPath();
  await serveResource(options.engine, exchange, target);
}

function answerError(
  options: HandlerOptions,
  request: IncomingMessage,
  response: ServerResponse,
  error: unknown,
): void {
  if (response.destroyed) return;
  const known = error instanceof ApiError ? error : new ApiError('InternalError', 'Internal error occurred');
  if (!(error instanceof ApiError))
    options.engine.log.error('a request failed', { method: request.method, path: request.url, error });
  try {
    new Exchange(request, response).fail(known);
  } catch {
    response.destroy();
  }
}
