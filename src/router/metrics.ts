import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { Services } from './services.ts';

export interface RouterMetrics {
  readonly registry: Registry;
  observe(
    labels: { readonly surface: string; readonly method: string; readonly status: number },
    seconds: number,
  ): void;
}

/** Label values come from closed sets: surfaces, methods that the router knows, status codes. */
export function createRouterMetrics(services: Services, registry = new Registry()): RouterMetrics {
  const requests = new Counter({
    name: 'ploinky_router_requests_total',
    help: 'Requests answered, by surface, method and status.',
    labelNames: ['surface', 'method', 'status'],
    registers: [registry],
  });
  const duration = new Histogram({
    name: 'ploinky_router_request_duration_seconds',
    help: 'Time from the first byte of a request to the last of its answer, streams included.',
    labelNames: ['surface'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300],
    registers: [registry],
  });
  addTableGauges(services, registry);
  return {
    registry,
    observe({ surface, method, status }, seconds) {
      requests.inc({ surface, method: methods.has(method) ? method : 'other', status });
      duration.observe({ surface }, seconds);
    },
  };
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
