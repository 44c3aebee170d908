import type { Dispatcher } from 'undici';
import type { Clock } from '#kit/clock.ts';
import { codeOf, messageOf } from '#kit/errors.ts';
import type { Endpoint } from './endpoint.ts';
import { errorFromStatus, TransportError } from './errors.ts';
import type { Counter } from './metrics.ts';

export interface HttpContext {
  readonly endpoint: Endpoint;
  readonly clock: Clock;
  readonly userAgent: string;
  /** rest_client_requests_total{code,method}. */
  readonly requests: Counter;
}

export interface HttpCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path and query, below the endpoint's prefix. */
  readonly path: string;
  readonly accept?: string;
  readonly contentType?: string;
  readonly body?: string;
  readonly stream?: boolean;
  readonly signal: AbortSignal;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: AsyncIterable<Buffer> & { destroy(error?: Error): unknown };
}

/**
 * Sends one request and returns its answer with the body unread. After a 401 it asks once more with fresh
 * credentials. Throws TransportError, or the signal's reason when that ended it.
 */
export async function send(context: HttpContext, call: HttpCall): Promise<HttpAnswer> {
  const answer = await sendOnce(context, call);
  if (answer.status !== 401 || !context.endpoint.refresh()) return answer;
  answer.body.destroy();
  return sendOnce(context, call);
}

async function sendOnce(context: HttpContext, call: HttpCall): Promise<HttpAnswer> {
  const { endpoint } = context;
  try {
    // Credentials first: they may renew the agents.
    const credentials = await untilAborted(endpoint.headers(), call.signal);
    const dispatcher = call.stream ? endpoint.streams() : endpoint.dispatcher();
    const answer = await dispatcher.request(requestOptions(context, call, credentials));
    context.requests.inc({ code: String(answer.statusCode), method: call.method });
    // undici's body emits an error of its own when it is destroyed unread; nobody is left to hear it.
    answer.body.on('error', () => undefined);
    return { status: answer.statusCode, headers: answer.headers, body: answer.body };
  } catch (error) {
    context.requests.inc({ code: '<error>', method: call.method });
    throw transportError(error, call.signal);
  }
}

function requestOptions(
  context: HttpContext,
  call: HttpCall,
  credentials: Readonly<Record<string, string>>,
): Dispatcher.RequestOptions {
  const headers: Record<string, string> = {
    accept: call.accept ?? 'application/json',
    'user-agent': context.userAgent,
    ...credentials,
  };
  if (call.contentType !== undefined) headers['content-type'] = call.contentType;
  return {
    origin: context.endpoint.origin,
    path: `${context.endpoint.pathPrefix}${call.path}`,
    method: call.method,
    headers,
    body: call.body ?? null,
    signal: call.signal,
    headersTimeout: 0,
    bodyTimeout: 0,
  };
}

/** Reads a body to its end. Throws TransportError ResponseTooLarge past `maxBytes`, without reading on. */
export async function readText(answer: HttpAnswer, maxBytes: number, signal: AbortSignal): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of answer.body) {
      size += chunk.length;
      if (size > maxBytes) {
        throw new TransportError('ResponseTooLarge', `the answer is over ${maxBytes} bytes`, {
          remedy: 'List in pages, or raise maxResponseBytes.',
        });
      }
      chunks.push(chunk);
    }
  } catch (error) {
    throw transportError(error, signal);
  }
  return Buffer.concat(chunks, size).toString('utf8');
}

/** The parsed JSON of a body. Throws TransportError MalformedResponse. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new TransportError('MalformedResponse', 'the answer is not JSON', { cause: error });
  }
}

/** Throws the ApiError of an answer that is not a success; the body, a Status, is read up to 1 MiB. */
export async function refuseFailure(answer: HttpAnswer, signal: AbortSignal): Promise<void> {
  if (answer.status >= 200 && answer.status < 300) return;
  const text = await readText(answer, 1_048_576, signal).catch(() => '');
  const retryAfter = answer.headers['retry-after'];
  throw errorFromStatus(
    answer.status,
    tryParse(text),
    typeof retryAfter === 'string' ? retryAfter : undefined,
  );
}

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** What a failed request or read means, as this folder's error. The signal's reason wins: it ended the request. */
export function transportError(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  if (error instanceof TransportError) return error;
  const code = codeOf(error) ?? '';
  const refused = ['ECONNREFUSED', 'ENOENT', 'ENOTFOUND', 'EAI_AGAIN', 'EACCES', 'UND_ERR_CONNECT_TIMEOUT'];
  return refused.includes(code)
    ? new TransportError('ConnectFailed', `cannot connect to the API: ${messageOf(error)}`, { cause: error })
    : new TransportError('ConnectionLost', `the connection to the API was lost: ${messageOf(error)}`, {
        cause: error,
      });
}

export interface Deadline {
  readonly signal: AbortSignal;
  /** Ends the deadline: its timer and its hold on the outer signal. */
  clear(): void;
}

/** A signal that aborts after `ms`, with TransportError DeadlineExceeded, or with `outer` and its reason. */
export function startDeadline(clock: Clock, ms: number, outer?: AbortSignal): Deadline {
  const controller = new AbortController();
  const cancel = clock.after(ms, () => {
    controller.abort(new TransportError('DeadlineExceeded', `no complete answer within ${ms} ms`));
  });
  const onAbort = () => controller.abort(outer?.reason);
  if (outer?.aborted) onAbort();
  outer?.addEventListener('abort', onAbort, { once: true });
  return {
    signal: controller.signal,
    clear() {
      cancel();
      outer?.removeEventListener('abort', onAbort);
    },
  };
}

function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) return Promise.reject(signal.reason);
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
