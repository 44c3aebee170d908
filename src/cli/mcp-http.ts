import { type Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Router } from './router.ts';

export interface HttpCall {
  readonly router: Router;
  readonly method: 'POST' | 'GET' | 'DELETE';
  /** At the router, below its URL. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  readonly signal: AbortSignal;
  /** Absent: a connection of its own. */
  readonly agent?: Agent;
}

/** Sends a request to the router; resolves with the head of its answer. */
export function sendToRouter(call: HttpCall): Promise<IncomingMessage> {
  const { router, method, path, headers, body, signal, agent = false } = call;
  return new Promise((resolve, reject) => {
    const send = router.url.startsWith('https:') ? httpsRequest : httpRequest;
    const request = send(`${router.url}${path}`, {
      method,
      agent,
      signal,
      headers: {
        ...(router.host === undefined ? {} : { host: router.host }),
        ...(body === undefined
          ? {}
          : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
        ...headers,
        ...(router.key && { authorization: `Bearer ${router.key}` }),
      },
    });
    request.once('response', resolve);
    request.once('error', reject);
    request.end(body);
  });
}

export const acceptBoth = 'application/json, text/event-stream';

export function isEventStream(response: IncomingMessage): boolean {
  return response.headers['content-type']?.startsWith('text/event-stream') === true;
}
