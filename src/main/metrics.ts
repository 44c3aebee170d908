import { createServer, type Server } from 'node:http';
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { Gauge as KubeGauge, Metrics } from '#kube/metrics.ts';

/**
 * prom-client behind the interface that src/kube counts through. A name that is asked for again (by another
 * controller, with other label values) is the same metric.
 */
export function createPromMetrics(registry: Registry): Metrics {
  const registers = [registry];
  const collectors = new Map<string, ((gauge: KubeGauge) => void)[]>();
  return {
    counter({ name, help, labelNames }) {
      const known = registry.getSingleMetric(name) as Counter | undefined;
      const counter = known ?? new Counter({ name, help, labelNames: [...labelNames], registers });
      return { inc: (labels, value = 1) => counter.inc({ ...labels }, value) };
    },
    gauge({ name, help, labelNames, collect }) {
      const collects = collectors.get(name) ?? [];
      collectors.set(name, collects);
      if (collect !== undefined) collects.push(collect);
      const known = registry.getSingleMetric(name) as Gauge | undefined;
      const gauge: Gauge =
        known ??
        new Gauge({
          name,
          help,
          labelNames: [...labelNames],
          registers,
          collect() {
            for (const call of collects) call(adapted);
          },
        });
      const adapted: KubeGauge = { set: (labels, value) => gauge.set({ ...labels }, value) };
      return adapted;
    },
    histogram({ name, help, labelNames, buckets }) {
      const known = registry.getSingleMetric(name) as Histogram | undefined;
      const histogram =
        known ?? new Histogram({ name, help, labelNames: [...labelNames], buckets: [...buckets], registers });
      return { observe: (labels, value) => histogram.observe({ ...labels }, value) };
    },
  };
}

export interface StatusOptions {
  readonly registry: Registry;
  /** Why the process is not ready, or undefined when it is. Default: always ready. */
  readonly notReady?: () => string | undefined;
}

/** `GET /healthz`, `/readyz` and `/metrics` for a process without any other HTTP surface. */
export function createStatusServer({ registry, notReady }: StatusOptions): Server {
  return createServer(async (request, response) => {
    const plain = (status: number, text: string) =>
      response.writeHead(status, { 'content-type': 'text/plain' }).end(text);
    if (request.url === '/healthz') plain(200, 'ok');
    else if (request.url === '/readyz') {
      const reason = notReady?.();
      plain(reason === undefined ? 200 : 503, reason ?? 'ok');
    } else if (request.url === '/metrics') {
      response.writeHead(200, { 'content-type': registry.contentType }).end(await registry.metrics());
    } else plain(404, 'not found');
  });
}

/** What a process uses: CPU seconds, resident memory, heap and the time that it began. */
export function addProcessMetrics(registry: Registry, startedAt: number): void {
  const add = (name: string, help: string, read: () => number) =>
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(read());
      },
    });
  add('process_cpu_seconds_total', 'User and system CPU time spent, in seconds.', () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1_000_000;
  });
  add('process_resident_memory_bytes', 'Resident memory.', () => process.memoryUsage.rss());
  add('nodejs_heap_size_used_bytes', 'Heap in use.', () => process.memoryUsage().heapUsed);
  add(
    'process_start_time_seconds',
    'When the process began, in seconds since the epoch.',
    () => startedAt / 1000,
  );
}
