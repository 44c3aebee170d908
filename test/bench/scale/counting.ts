import type { Client } from '#kube/client.ts';
import type { Metrics } from '#kube/metrics.ts';

/** Numbers by name, for the end of a run. */
export type Counts = Record<string, number>;

const writeMethods = new Set(['create', 'update', 'patch', 'apply', 'applyStatus', 'scale', 'delete']);

/** The client itself, which also counts what it wrote: `<kind> <method>`. A status that was not sent does not count. */
export function countWrites(client: Client, counts: Counts): Client {
  return new Proxy(client, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== 'function') return member;
      if (!writeMethods.has(String(name))) return member.bind(target);
      return async (...args: unknown[]) => {
        const answer: unknown = await member.apply(target, args);
        if (name === 'applyStatus' && answer === args[1]) return answer;
        const { kind } = args[0] as { kind: string };
        add(counts, `${kind} ${String(name)}`);
        return answer;
      };
    },
  });
}

/** Counters only, each as `name{values of its labels}`. */
export function countingMetrics(counts: Counts): Metrics {
  return {
    counter: ({ name }) => ({
      inc: (labels, value = 1) => add(counts, `${name}{${Object.values(labels).join(',')}}`, value),
    }),
    gauge: () => ({ set() {} }),
    histogram: () => ({ observe() {} }),
  };
}

function add(counts: Counts, name: string, value = 1): void {
  counts[name] = (counts[name] ?? 0) + value;
}
