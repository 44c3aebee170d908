import { join } from 'node:path';
import { buildApp } from '../../scripts/build.ts';
import { costRows, sumOf } from './cluster/cost-rows.ts';
import type { Bench, BenchResult, Goal, Table } from './harness/bench.ts';
import { type Measured, measurePaced, measureTogether, type Paced, perSecond } from './operator/runs.ts';

const few = 100;
const burst = 300;
const many = 1_000;
const most = 5_000;

/**
 * The operator's own share: the controller as a cluster runs it (its program, its flags, a service account, TLS) with
 * pods as workloads, against an API process that is no limit, unlike that of a cluster on one machine.
 */
export const operator: Bench = {
  name: 'operator',
  about: `${few}, ${burst} at once and ${many} Agents as pods of an API process: time, writes, memory of the controller`,
  goals: [
    ...goalsOf(many),
    'P24-writes-per-child',
    'P24-status-writes-per-agent',
    'P24-reconciles-per-agent',
    'P25-rss-mib-100',
    'P27-p50-ms',
    'P27-p99-ms',
  ],
  async run(scope) {
    const app = await buildApp(join(scope.folder, 'app'));
    const together = await measureTogether(scope, app, few, burst);
    const paced = await measurePaced(scope, app, many);
    const { writes, children, reconciles } = paced.run;
    const { p50 = Number.NaN, p99 = Number.NaN } = together.burst.delays ?? {};
    return result([together.few, together.burst, paced.run], paced, [
      atMost('P24-writes-per-child', 1, '', (writes?.children ?? Number.NaN) / (sumOf(children) ?? 0)),
      atMost('P24-status-writes-per-agent', 2, '', (writes?.status ?? Number.NaN) / many),
      atMost('P24-reconciles-per-agent', 4, '', reconciles / many),
      atMost('P25-rss-mib-100', 128, 'MiB', together.few.residentMiB),
      atMost('P27-p50-ms', 50, 'ms', p50),
      atMost('P27-p99-ms', 250, 'ms', p99),
    ]);
  },
};

/** Apart, because it takes as long as the others together. */
export const operatorAtMost: Bench = {
  name: `operator-${most}`,
  about: `As operator, with ${most} Agents`,
  goals: goalsOf(most),
  longestMs: 300_000,
  async run(scope) {
    const paced = await measurePaced(scope, await buildApp(join(scope.folder, 'app')), most);
    return result([paced.run], paced, []);
  },
};

function goalsOf(agents: number): string[] {
  return [`P22-behind-seconds-${agents}`, `P25-rss-mib-${agents}`, `P24-idle-writes-${agents}`];
}

function result(runs: readonly Measured[], paced: Paced, more: readonly Goal[]): BenchResult {
  const { agents, readySeconds, createdSeconds, residentMiB } = paced.run;
  const idleWrites = paced.idle.writes?.all ?? Number.NaN;
  return {
    tables: [table(runs, paced)],
    goals: [
      atMost(`P22-behind-seconds-${agents}`, 2.5, 's', readySeconds - createdSeconds),
      atMost(`P25-rss-mib-${agents}`, 256, 'MiB', residentMiB),
      atMost(`P24-idle-writes-${agents}`, 0, '', idleWrites),
      ...more,
    ],
    samples: { runs, idle: paced.idle },
    notes: [
      `Created at ${perSecond} a second, or at once by 16. API, nodes’ stand-in and controller share this machine.`,
      'Each pod has an agent-server that proves itself and reports, so the controller holds a stream of each.',
    ],
  };
}

function table(runs: readonly Measured[], { run, idle }: Paced): Table {
  const line = (title: string, read: (one: Measured) => number) => [title, ...runs.map(read)];
  const onlyPaced = (title: string, value: number) => [
    title,
    ...runs.map((one) => (one === run ? value : '')),
  ];
  const kinds = Object.entries(run.writes?.kinds ?? {});
  return {
    title: 'From the first creation until all status is current, and what it took',
    columns: ['Agents', ...runs.map(({ title }) => title)],
    rows: [
      line('seconds until created', ({ createdSeconds }) => createdSeconds),
      line('seconds behind the last creation', (one) => one.readySeconds - one.createdSeconds),
      line('created until pod POST, p50 ms', ({ delays }) => delays?.p50 ?? Number.NaN),
      line('p99 ms', ({ delays }) => delays?.p99 ?? Number.NaN),
      ...costRows(runs),
      line('API: CPU ms', (one) => (one.apiCpuSeconds * 1000) / one.agents),
      ...kinds.map(([kind, count]) => onlyPaced(kind, count / run.agents)),
      onlyPaced(`writes in ${idle.seconds} idle seconds`, idle.writes?.all ?? Number.NaN),
      onlyPaced('% of a core meanwhile', idle.cpuShare * 100),
    ],
  };
}

function atMost(name: string, target: number, unit: string, value: number): Goal {
  return { name, op: '<=', target, unit, value };
}
