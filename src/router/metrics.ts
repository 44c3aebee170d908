import { Counter, Gauge, Registry } from 'prom-client';
import { registerDurations } from './durations.ts';
import type { Services } from './services.ts';

export interface RouterMetrics {
  readonly registry: Registry;
  observe(labels: Labels, seconds: number): void;
}

/** Label values come from closed sets: surfaces, methods that the router knows, status codes. */
export function createRouterMetrics(services: Services, registry = new Registry()): RouterMetrics {
  const tallies = new Map<string, Tally>();
  new Counter({
    name: 'ploinky_router_requests_total',
    help: 'Requests answered, by surface, method and status.',
    labelNames: ['surface', 'method', 'status'],
    registers: [registry],
    collect() {
      for (const tally of tallies.values()) {
        this.inc({ surface: tally.surface, method: tally.method, status: tally.status }, tally.count);
        tally.count = 0;
      }
    },
  });
  const durations = registerDurations(registry, {
    name: 'ploinky_router_request_duration_seconds',
    help: 'Time from the first byte of a request to the last of its answer, streams included.',
    label: 'surface',
  });
  addTableGauges(services, registry);
  return {
    registry,
    observe(labels, seconds) {
      tallyOf(tallies, labels).count += 1;
      durations.observe(labels.surface, seconds);
    },
  };
}

interface Labels {
  readonly surface: string;
  readonly method: string;
  readonly status: number;
}

/** Requests since they were last read, which is when prom-client hears of them. */
interface Tally extends Labels {
  count: number;
}

function tallyOf(tallies: Map<string, Tally>, { surface, method, status }: Labels): Tally {
  const known = methods.has(method) ? method : 'other';
  const key = `${status} ${known} ${surface}`;
  const tally = tallies.get(key) ?? { surface, method: known, status, count: 0 };
  if (tally.count === 0) tallies.set(key, tally);
  return tally;
}

const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

function addTableGauges({ tables }: Services, registry: Registry): void {
  new Gauge({
    name: 'ploinky_router_agents',
    help: 'Agents in the routing table, by whether they take calls.',
    labelNames: ['ready'],
    registers: [registry],
    collect() {
      const targets = [...tables.current().targets.values()];
      const ready = targets.filter((target) => target.unavailable === undefined).length;
      this.set({ ready: 'true' }, ready);
      this.set({ ready: 'false' }, targets.length - ready);
    },
  });
  new Gauge({
    name: 'ploinky_router_surfaces',
    help: 'Surfaces in the routing table.',
    registers: [registry],
    collect() {
      this.set(tables.current().surfaces.length);
    },
  });
}
