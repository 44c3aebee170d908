import type { Clock } from '#kit/clock.ts';
import { ApiError } from './api-error.ts';
import type { Exchange } from './http/exchange.ts';

/** What a test wants to go wrong with one request. */
export type Fault =
  | { readonly kind: 'status'; readonly status: 429 | 500 | 503 | 504; readonly retryAfterSeconds?: number }
  | { readonly kind: 'delay'; readonly milliseconds: number }
  /** The connection is cut before any answer. */
  | { readonly kind: 'drop' }
  /** No answer ever comes; the connection stays. */
  | { readonly kind: 'silence' };

export interface FaultRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly watch: boolean;
}

/** Asked before each request but health checks. Undefined lets it pass. For tests only. */
export type Faults = (request: FaultRequest) => Fault | undefined;

export interface FaultHook {
  before(exchange: Exchange): Promise<'answered' | 'pass'>;
}

export function createFaultHook(faults: Faults, clock: Clock): FaultHook {
  return {
    async before(exchange) {
      const fault = faults({
        method: exchange.method,
        path: exchange.path,
        query: exchange.query,
        watch: exchange.query.get('watch') === 'true' || exchange.query.get('watch') === '1',
      });
      if (fault === undefined) return 'pass';
      if (fault.kind === 'silence') return 'answered';
      if (fault.kind === 'delay') {
        await clock.sleep(fault.milliseconds);
        return 'pass';
      }
      if (fault.kind === 'status') throw faultError(fault.status, fault.retryAfterSeconds);
      exchange.response.destroy();
      return 'answered';
    },
  };
}

function faultError(status: number, retryAfterSeconds: number | undefined): ApiError {
  const details = retryAfterSeconds === undefined ? undefined : { retryAfterSeconds };
  if (status === 429) return new ApiError('TooManyRequests', 'injected: too many requests', details);
  if (status === 503) return new ApiError('ServiceUnavailable', 'injected: unavailable', details);
  if (status === 504) return new ApiError('Timeout', 'injected: timeout', details);
  return new ApiError('InternalError', 'injected: internal error', details);
}
