import { join } from 'node:path';
import type { Bench } from './harness/bench.ts';
import { lineOf, type Scope } from './harness/scope.ts';
import { median } from './harness/stats.ts';

const runs = 3;

type NumberIn<T> = { [Key in keyof T]: T[Key] extends number ? Key : never }[keyof T];

/** With everything listed, and after the watch's events as well. */
interface Stages {
  readonly listed: number;
  readonly watched: number;
}

/** What kube.ts prints. */
interface KubeRun {
  readonly objects: number;
  readonly jsonBytesPerObject: number;
  readonly list10kMs: number;
  readonly heapMiB: Stages;
  readonly heapBytesPerObject: number;
  readonly rssMiB: Stages & { readonly bare: number };
  readonly watchEventsPerSecond: number;
  readonly watchCpuMicrosPerEvent: number;
  readonly decoderEventsPerSecond: number;
  readonly cacheEventsPerSecond: number;
  readonly jsonParseEventsPerSecond: number;
}

/** The Kubernetes client runtime beside bare JSON.parse of the same bytes. */
export const watch: Bench = {
  name: 'watch',
  about: 'decoding watches and listing 10,000 objects into the cache, beside JSON.parse',
  goals: ['P25-listed-rss-mib'],
  async run(scope) {
    const taken: KubeRun[] = [];
    for (let index = 0; index < runs; index += 1) taken.push(await measure(scope));
    const middle = (field: NumberIn<KubeRun>) => median(taken.map((run) => run[field]));
    const rss = (stage: keyof KubeRun['rssMiB']) => median(taken.map((run) => run.rssMiB[stage]));
    return {
      tables: [
        {
          title: `${runs} runs, ${taken[0]?.objects} objects of ${taken[0]?.jsonBytesPerObject} bytes of JSON`,
          columns: ['medians', 'events/s', 'CPU µs/event'],
          rows: [
            ['JSON.parse alone', middle('jsonParseEventsPerSecond'), ''],
            ['lines cut and parsed', middle('decoderEventsPerSecond'), ''],
            ['… and put into the cache', middle('cacheEventsPerSecond'), ''],
            ['a watch over HTTP', middle('watchEventsPerSecond'), middle('watchCpuMicrosPerEvent')],
          ],
        },
        {
          title: 'A list of 10,000 objects into the cache',
          columns: ['', 'value'],
          rows: [
            ['milliseconds', middle('list10kMs')],
            ['bytes of heap an object', middle('heapBytesPerObject')],
            ['MiB resident before', rss('bare')],
            ['MiB resident when listed', rss('listed')],
            ['MiB resident after 100,000 events', rss('watched')],
          ],
        },
      ],
      goals: [
        // 10,000 objects: 5,000 Agents and a pod each.
        { name: 'P25-listed-rss-mib', op: '<=', target: 256, unit: 'MiB', value: rss('listed') },
      ],
      samples: taken,
      notes: ['The watch over HTTP shares the two cores with its server.'],
    };
  },
};

async function measure(scope: Scope): Promise<KubeRun> {
  const script = join(import.meta.dirname, 'kube.ts');
  const { process: child } = scope.start(script, [], { nodeFlags: ['--expose-gc'] });
  let text = '';
  child.stdout?.on('data', (chunk) => {
    text += String(chunk);
  });
  await lineOf(child, '}', 40_000);
  return JSON.parse(text) as KubeRun;
}
