import { Counter, Gauge, Registry } from 'prom-client';
import type { Durations } from './durations.ts';
import type { Tally } from './metrics.ts';
import type { Services } from './services.ts';

export interface Registered {
  readonly services: Services;
  readonly tallies: ReadonlyMap<string, Tally>;
  readonly durations: Durations;
  /** Default: a registry of the router's own. */
  readonly registry: Registry | undefined;
}

/** Shows in the registry what the router counts, and what it serves. */
export function registerRouter({
  services,
  tallies,
  durations,
  registry = new Registry(),
}: Registered): Registry {
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
  durations.register(registry);
  addTableGauges(services, registry);
  return registry;
}

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
