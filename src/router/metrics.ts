import type { Registry } from 'prom-client';
import { createDurations } from './durations.ts';
import type { Services } from './services.ts';

export interface RouterMetrics {
  observe(labels: Labels, seconds: number): void;
  /** Everything in the Prometheus text format, with its content type. */
  read(): Promise<{ readonly type: string; readonly text: string }>;
}

interface Labels {
  readonly surface: string;
  readonly method: string;
  readonly status: number;
}

/**
 * Label values come from closed sets: surfaces, methods that the router knows, status codes. prom-client is loaded
 * when somebody reads: until then the counting needs nothing of it, and it takes a tenth of the router's start.
 */
export function createRouterMetrics(services: Services, given?: Registry): RouterMetrics {
  const tallies = new Map<string, Tally>();
  const durations = createDurations({
    name: 'ploinky_router_request_duration_seconds',
    help: 'Time from the first byte of a request to the last of its answer, streams included.',
    label: 'surface',
  });
  let registry: Promise<Registry> | undefined;
  /** Almost every request is of the kind that the one before it was. */
  let last: Tally | undefined;
  const open = async () => {
    const { registerRouter } = await import('./register-metrics.ts');
    return registerRouter({ services, tallies, durations, registry: given });
  };
  return {
    observe(labels, seconds) {
      if (last === undefined || !isOf(last, labels)) last = tallyOf(tallies, labels);
      last.count += 1;
      durations.observe(labels.surface, seconds);
    },
    async read() {
      registry ??= open();
      const known = await registry;
      return { type: known.contentType, text: await known.metrics() };
    },
  };
}

/** Requests since they were last read, which is when prom-client hears of them. */
export interface Tally extends Labels {
  count: number;
}

/** One that was read since is not among those that are read. */
function isOf(tally: Tally, { surface, method, status }: Labels): boolean {
  return tally.count > 0 && tally.status === status && tally.surface === surface && tally.method === method;
}

function tallyOf(tallies: Map<string, Tally>, { surface, method, status }: Labels): Tally {
  const known = methods.has(method) ? method : 'other';
  const key = `${status} ${known} ${surface}`;
  const tally = tallies.get(key) ?? { surface, method: known, status, count: 0 };
  if (tally.count === 0) tallies.set(key, tally);
  return tally;
}

const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
