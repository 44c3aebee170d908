import type { Metrics } from './metrics.ts';

/** `terminal` counts as `error` too; the rest are controller-runtime's results. */
export type Outcome = 'success' | 'requeue' | 'requeue_after' | 'error' | 'terminal';

const seconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

export function createControllerMetrics(controller: string, concurrency: number, metrics: Metrics) {
  const labels = { controller };
  const define = (suffix: string, help: string, extra: string[] = []) => ({
    name: `controller_runtime_${suffix}`,
    help,
    labelNames: ['controller', ...extra],
  });
  const total = metrics.counter(define('reconcile_total', 'Reconciles by result.', ['result']));
  const errors = metrics.counter(define('reconcile_errors_total', 'Reconciles that failed.'));
  const terminal = metrics.counter(
    define('terminal_reconcile_errors_total', 'Reconciles that failed and are not tried again.'),
  );
  const time = metrics.histogram({
    ...define('reconcile_time_seconds', 'How long a reconcile takes.'),
    buckets: seconds,
  });
  const active = metrics.gauge(define('active_workers', 'Reconciles that run now.'));
  metrics
    .gauge(define('max_concurrent_reconciles', 'Reconciles that may run at the same time.'))
    .set(labels, concurrency);
  let running = 0;
  return {
    began(): void {
      running += 1;
      active.set(labels, running);
    },
    ended(outcome: Outcome, tookSeconds: number): void {
      running -= 1;
      active.set(labels, running);
      time.observe(labels, tookSeconds);
      const failed = outcome === 'error' || outcome === 'terminal';
      total.inc({ ...labels, result: failed ? 'error' : outcome });
      if (failed) errors.inc(labels);
      if (outcome === 'terminal') terminal.inc(labels);
    },
  };
}
