import type { Registry } from 'prom-client';

/** Upper ends of the buckets, in seconds. */
const bounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

interface Observed {
  /** One for each bound and one for what is beyond the last; not cumulated. */
  readonly counts: Float64Array;
  sum: number;
}

export interface Durations {
  observe(surface: string, seconds: number): void;
  /** The registry shows them from now on. */
  register(registry: Registry): void;
}

/**
 * A histogram as the registry writes it, with one label: an observation costs a search among the bounds, where
 * prom-client's own makes a text of the labels each time, which every request would pay.
 */
export function createDurations({
  name,
  help,
  label,
}: {
  readonly name: string;
  readonly help: string;
  readonly label: string;
}): Durations {
  const all = new Map<string, Observed>();
  const metric = {
    ...{ name, help, type: 'histogram', aggregator: 'sum' },
    get: async () => ({
      ...{ name, help, type: 'histogram', aggregator: 'sum' },
      values: [...all].flatMap(([value, observed]) => samplesOf(name, { [label]: value }, observed)),
    }),
    reset: () => all.clear(),
  };
  return {
    register(registry) {
      registry.registerMetric(metric as unknown as Parameters<Registry['registerMetric']>[0]);
    },
    observe(surface, seconds) {
      const observed = all.get(surface) ?? { counts: new Float64Array(bounds.length + 1), sum: 0 };
      if (observed.sum === 0) all.set(surface, observed);
      let bucket = 0;
      while (bucket < bounds.length && seconds > (bounds[bucket] ?? 0)) bucket += 1;
      observed.counts[bucket] = (observed.counts[bucket] ?? 0) + 1;
      observed.sum += seconds;
    },
  };
}

interface Sample {
  readonly metricName: string;
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
}

function samplesOf(name: string, labels: Record<string, string>, { counts, sum }: Observed): Sample[] {
  let count = 0;
  const buckets = Array.from(counts, (own, index) => {
    count += own;
    return { metricName: `${name}_bucket`, labels: { le: bounds[index] ?? '+Inf', ...labels }, value: count };
  });
  return [
    ...buckets,
    { metricName: `${name}_sum`, labels, value: sum },
    { metricName: `${name}_count`, labels, value: count },
  ];
}
