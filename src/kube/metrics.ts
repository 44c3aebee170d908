/**
 * What src/kube needs of a metrics library. `src/main` adapts prom-client; the default counts nothing.
 * Names and labels are controller-runtime's and client-go's, so that existing dashboards work.
 */
export interface Metrics {
  counter(definition: MetricDefinition): Counter;
  gauge(definition: GaugeDefinition): Gauge;
  histogram(definition: HistogramDefinition): Histogram;
}

export type Labels = Readonly<Record<string, string>>;

export interface MetricDefinition {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
}

export interface GaugeDefinition extends MetricDefinition {
  /** Called at each scrape to set what only then can be known. */
  readonly collect?: (gauge: Gauge) => void;
}

export interface HistogramDefinition extends MetricDefinition {
  /** Upper bounds in the metric's unit, ascending. */
  readonly buckets: readonly number[];
}

export interface Counter {
  /** Adds `value`, default 1. */
  inc(labels: Labels, value?: number): void;
}

export interface Gauge {
  set(labels: Labels, value: number): void;
}

export interface Histogram {
  observe(labels: Labels, value: number): void;
}

export const noMetrics: Metrics = {
  counter: () => ({ inc() {} }),
  gauge: () => ({ set() {} }),
  histogram: () => ({ observe() {} }),
};
