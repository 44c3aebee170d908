import { CodedError } from '#kit/errors.ts';
import { isObject } from '#kit/json.ts';

/** metav1.StatusReason; `Unknown` stands for what a server sends beyond this list. */
const reasons = [
  'Unauthorized',
  'Forbidden',
  'NotFound',
  'AlreadyExists',
  'Conflict',
  'Gone',
  'Invalid',
  'ServerTimeout',
  'StoreReadError',
  'Timeout',
  'TooManyRequests',
  'BadRequest',
  'MethodNotAllowed',
  'NotAcceptable',
  'RequestEntityTooLarge',
  'UnsupportedMediaType',
  'InternalError',
  'Expired',
  'ServiceUnavailable',
  'Unknown',
] as const;
export type StatusReason = (typeof reasons)[number];

/** metav1.StatusDetails. */
export interface StatusDetails {
  readonly name?: string;
  readonly group?: string;
  readonly kind?: string;
  readonly uid?: string;
  readonly causes?: readonly {
    readonly reason?: string;
    readonly message?: string;
    readonly field?: string;
  }[];
  readonly retryAfterSeconds?: number;
}

/** What the API answered instead of success. The wire's family: a request that got no answer is a TransportError. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  /** HTTP status, or the `code` of a Status that came in-band on a watch. */
  readonly status: number;
  readonly reason: StatusReason;
  /** How long the server asks to be left alone, in milliseconds. */
  readonly retryAfterMs: number | undefined;
  readonly details: StatusDetails | undefined;

  constructor(answer: {
    status: number;
    reason?: StatusReason;
    message: string;
    retryAfterMs?: number | undefined;
    details?: StatusDetails | undefined;
  }) {
    super(answer.message);
    this.status = answer.status;
    this.reason = answer.reason ?? reasonOfStatus(answer.status);
    this.retryAfterMs = answer.retryAfterMs;
    this.details = answer.details;
  }
}

/**
 * - `ConnectFailed`: nothing answers at the endpoint.
 * - `ConnectionLost`: the connection ended before the answer was complete.
 * - `DeadlineExceeded`: no complete answer within the call's time.
 * - `ResponseTooLarge`: an answer, or one line of a watch, passed its limit.
 * - `MalformedResponse`: the answer is not what the Kubernetes API sends.
 * - `BadEndpoint`: the kubeconfig or service account cannot be used.
 */
export type TransportErrorCode =
  | 'ConnectFailed'
  | 'ConnectionLost'
  | 'DeadlineExceeded'
  | 'ResponseTooLarge'
  | 'MalformedResponse'
  | 'BadEndpoint';

/** No usable answer came. The request may or may not have taken effect. */
export class TransportError extends CodedError {
  override readonly name = 'TransportError';

  constructor(code: TransportErrorCode, message: string, options: { cause?: unknown; remedy?: string } = {}) {
    super(code, message, options);
  }
}

export function isNotFound(error: unknown): boolean {
  return error instanceof ApiError && error.status === 404;
}

/** This process may not do what it asked for. */
export function isForbidden(error: unknown): boolean {
  return error instanceof ApiError && error.status === 403;
}

/** A stale resourceVersion, or a field owned by another manager; not AlreadyExists, which is 409 too. */
export function isConflict(error: unknown): boolean {
  return error instanceof ApiError && error.status === 409 && error.reason !== 'AlreadyExists';
}

export function isAlreadyExists(error: unknown): boolean {
  return error instanceof ApiError && error.reason === 'AlreadyExists';
}

/** The version or continue token asked for has been compacted away: list again. */
export function isGone(error: unknown): boolean {
  return error instanceof ApiError && (error.status === 410 || error.reason === 'Expired');
}

/** The API is down, overloaded or unreachable: nothing is wrong with the request. */
export function isUnavailable(error: unknown): boolean {
  if (error instanceof TransportError) return error.code !== 'MalformedResponse';
  return error instanceof ApiError && (error.status === 429 || error.status >= 500);
}

/** Milliseconds of the error's Retry-After, else 0. */
export function retryAfterOf(error: unknown): number {
  return error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0;
}

/**
 * The error of a metav1.Status, from an HTTP answer or an in-band ERROR event. Anything else a server or
 * proxy may send gives an error with the status alone. `retryAfter` is the HTTP header.
 */
export function errorFromStatus(status: number, body: unknown, retryAfter?: string): ApiError {
  const told = isObject(body) && body['kind'] === 'Status' ? body : {};
  const details = isObject(told['details']) ? (told['details'] as StatusDetails) : undefined;
  const code = typeof told['code'] === 'number' && told['code'] > 0 ? told['code'] : status;
  const message = typeof told['message'] === 'string' && told['message'] !== '' ? told['message'] : undefined;
  return new ApiError({
    status: code,
    reason: knownReason(told['reason']) ?? reasonOfStatus(code),
    message: message ?? `the API answered ${code}`,
    retryAfterMs: retryAfterMs(retryAfter, details),
    details,
  });
}

function retryAfterMs(header: string | undefined, details: StatusDetails | undefined): number | undefined {
  // The Kubernetes API sends seconds; the HTTP-date form (RFC 9110 §10.2.3) needs a clock and is not sent.
  const seconds = header === undefined ? details?.retryAfterSeconds : Number(header);
  return seconds !== undefined && Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : undefined;
}

function knownReason(value: unknown): StatusReason | undefined {
  if (typeof value !== 'string' || value === '') return undefined;
  return reasons.find((reason) => reason === value) ?? 'Unknown';
}

const reasonByStatus: Readonly<Record<number, StatusReason>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  406: 'NotAcceptable',
  409: 'Conflict',
  410: 'Gone',
  413: 'RequestEntityTooLarge',
  415: 'UnsupportedMediaType',
  422: 'Invalid',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
  504: 'Timeout',
};

function reasonOfStatus(status: number): StatusReason {
  return reasonByStatus[status] ?? 'Unknown';
}
