import type { Clock } from '#kit/clock.ts';
import type { Gauge, Metrics } from './metrics.ts';

const seconds = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60, 300, 1000];

/** client-go's workqueue_* metrics. `item` is any object that stands for one key while it waits or is processed. */
export function createQueueMetrics(name: string, clock: Clock, metrics: Metrics) {
  const labels = { name };
  const labelNames = ['name'];
  const addedAt = new WeakMap<object, number>();
  const startedAt = new Map<object, number>();
  const define = (suffix: string, help: string) => ({ name: `workqueue_${suffix}`, help, labelNames });
  const adds = metrics.counter(define('adds_total', 'Adds handled by the queue.'));
  const retries = metrics.counter(define('retries_total', 'Retries handled by the queue.'));
  const depth = metrics.gauge(define('depth', 'Keys that wait to be processed.'));
  const waited = metrics.histogram({
    ...define('queue_duration_seconds', 'How long a key waits before it is processed.'),
    buckets: seconds,
  });
  const worked = metrics.histogram({
    ...define('work_duration_seconds', 'How long processing a key takes.'),
    buckets: seconds,
  });
  const elapsed = (since: number) => (clock.monotonic() - since) / 1000;
  const collecting = (measure: (running: number[]) => number) => (gauge: Gauge) =>
    gauge.set(labels, measure([...startedAt.values()].map(elapsed)));
  metrics.gauge({
    ...define('unfinished_work_seconds', 'Seconds of work in progress that work_duration has not seen yet.'),
    collect: collecting((running) => running.reduce((sum, one) => sum + one, 0)),
  });
  metrics.gauge({
    ...define(
      'longest_running_processor_seconds',
      'How long the longest running processor has been running.',
    ),
    collect: collecting((running) => Math.max(0, ...running)),
  });
  return {
    added(item: object): void {
      adds.inc(labels);
      addedAt.set(item, clock.monotonic());
    },
    retried: () => retries.inc(labels),
    depth: (count: number) => depth.set(labels, count),
    started(item: object): void {
      const since = addedAt.get(item);
      if (since !== undefined) waited.observe(labels, elapsed(since));
      startedAt.set(item, clock.monotonic());
    },
    done(item: object): void {
      const since = startedAt.get(item);
      if (since !== undefined) worked.observe(labels, elapsed(since));
      startedAt.delete(item);
    },
  };
}
