import { createServer, type Server } from 'node:http';
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { Metrics } from '#kube/metrics.ts';

/** prom-client behind the interface that src/kube counts through. */
export function createPromMetrics(registry: Registry): Metrics {
  const registers = [registry];
  return {
    counter({ name, help, labelNames }) {
      const counter = new Counter({ name, help, labelNames: [...labelNames], registers });
      return { inc: (labels, value = 1) => counter.inc({ ...labels }, value) };
    },
    gauge({ name, help, labelNames, collect }) {
      const gauge = new Gauge({
        name,
        help,
        labelNames: [...labelNames],
        registers,
        collect: () => collect?.(adapted),
      });
      const adapted = { set: (labels: object, value: number) => gauge.set({ ...labels }, value) };
      return adapted;
    },
    histogram({ name, help, labelNames, buckets }) {
      const histogram = new Histogram({
        name,
        help,
        labelNames: [...labelNames],
        buckets: [...buckets],
        registers,
      });
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
