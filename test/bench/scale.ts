import type { Bench } from './harness/bench.ts';
import { runScale } from './scale/run.ts';

const agents = 1_000;
const perSecond = 100;

/** Everything above the driver, with a thousand Agents. */
export const scale: Bench = {
  name: 'scale',
  about: `${agents} Agents created at ${perSecond} a second: time, writes and memory of API and controllers`,
  goals: [
    'P22-behind-seconds',
    'P24-writes-per-agent',
    'P24-reconciles-per-agent',
    'P24-idle-writes',
    'P25-rss-mib',
  ],
  async run(scope) {
    const outcome = await runScale(scope, { agents, perSecond, idleMs: 10_000, timeoutMs: 60_000 });
    const behind = outcome.readySeconds - outcome.createdSeconds;
    const { Event: events, Agent: writes } = writesByKind(outcome.writes);
    return {
      tables: [
        {
          title: 'From the first creation to all settled',
          columns: ['', 'value'],
          rows: [
            ['seconds until created', outcome.createdSeconds],
            ['seconds until all are Ready', outcome.readySeconds],
            ['reconciles an Agent', outcome.reconciles / agents],
            ['writes an Agent: finalizer and status', (writes ?? 0) / agents],
            ['writes an Agent: Events', (events ?? 0) / agents],
            ['writes in 10 idle seconds', outcome.idleWrites],
            ['MiB resident: API', outcome.apiserverMiB],
            ['MiB resident: controllers, before the first Agent', outcome.bareMiB],
            ['MiB resident: controllers, after a collection', outcome.controllerMiB],
            ['MiB of heap in use: controllers', outcome.controllerHeapMiB],
          ],
        },
      ],
      goals: [
        { name: 'P22-behind-seconds', op: '<=', target: 2.5, unit: 's', value: behind },
        { name: 'P24-writes-per-agent', op: '<=', target: 4, unit: '', value: (writes ?? 0) / agents },
        {
          name: 'P24-reconciles-per-agent',
          op: '<=',
          target: 4,
          unit: '',
          value: outcome.reconciles / agents,
        },
        { name: 'P24-idle-writes', op: '<=', target: 0, unit: '', value: outcome.idleWrites },
        { name: 'P25-rss-mib', op: '<=', target: 256, unit: 'MiB', value: outcome.controllerMiB },
      ],
      samples: outcome,
      notes: [
        'Workloads are in memory; their agent-servers are sockets of one process that prove and report.',
      ],
    };
  },
};

/** Sums of `<kind> <method>`. */
export function writesByKind(writes: Readonly<Record<string, number>>): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const [name, count] of Object.entries(writes)) {
    const [kind = ''] = name.split(' ');
    sums[kind] = (sums[kind] ?? 0) + count;
  }
  return sums;
}
