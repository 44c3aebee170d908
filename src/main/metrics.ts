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

/** `GET /healthz` and `GET /metrics` for a process without any other HTTP surface. */
export function createStatusServer(registry: Registry): Server {
  return createServer(async (request, response) => {
    if (request.url === '/healthz') {
      response.writeHead(200, { 'content-type': 'text/plain' }).end('ok');
    } else if (request.url === '/metrics') {
      response.writeHead(200, { 'content-type': registry.contentType }).end(await registry.metrics());
    } else {
      response.writeHead(404).end();
    }
  });
}
