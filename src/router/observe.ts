import type { IncomingMessage } from 'node:http';
import type { Clock } from '#kit/clock.ts';
import type { Log } from '#kit/log.ts';
import type { RouterMetrics } from './metrics.ts';
import { factsOf } from './request.ts';

/** A request that has been answered, or whose client went. */
export interface Served {
  readonly id: string;
  readonly request: IncomingMessage;
  /** Which part of the router answered. */
  readonly surface: string;
  readonly status: number;
  /** Monotonic milliseconds. */
  readonly begun: number;
}

export type Observe = (served: Served) => void;

/** One line and one count a request: what was asked and how it went, never a header, a query or a body. */
export function createObserver(clock: Clock, log: Log, metrics: RouterMetrics): Observe {
  return ({ id, request, surface, status, begun }) => {
    const { path } = factsOf(request);
    const method = request.method ?? '';
    const elapsed = clock.monotonic() - begun;
    metrics.observe({ surface, method, status }, elapsed / 1000);
    log.info('request', { id, method, path, surface, status, ms: Math.round(elapsed * 10) / 10 });
  };
}
