import { type Pod, podResource } from '#api/cluster-kinds.ts';
import { agentLabel } from '#api/labels.ts';
import type { Bench, BenchResult, Goal, Table } from '../harness/bench.ts';
import type { Scope } from '../harness/scope.ts';
import { type AgentRun, type IdleRun, idle, runAgents, withController } from './agent-runs.ts';
import { type Created, createAgents, removeAgents } from './agents.ts';
import { createPods, removePods, templateOf } from './bare-pods.ts';
import { costRows, sumOf } from './cost-rows.ts';
import type { Stage } from './stage.ts';

export interface AgentsOptions {
  /** How many Agents the run is about. */
  readonly agents: number;
  readonly idleSeconds: number;
}

/** Agents whose memory the contract names; the burst comes on top of them. */
const few = 100;
const burst = 300;
const perSecond = 100;
/** From here on a size has one run, at the pace of the contract: what another adds is not worth its minutes. */
const large = 2_000;
const shortIdleSeconds = 10;

interface Outcome {
  readonly few?: AgentRun;
  readonly burst?: AgentRun;
  readonly bare: Created;
  readonly unpaced?: AgentRun;
  readonly paced: AgentRun;
  readonly idle: IdleRun;
  /** From the deletion of all Agents until nothing of theirs is left; the controller has ended. */
  readonly collectedSeconds: number;
}

/**
 * Everything that a controller has to do with Agents, on simulated nodes: time, writes and memory. The bare client
 * creates the pods of the same Agents and nothing else, on the same cluster a minute before.
 */
export function agentsBench(stage: () => Stage, { agents, idleSeconds }: AgentsOptions): Bench {
  return {
    name: `cluster-agents-${agents}`,
    about: `${agents} Agents on a cluster: time to Ready beside bare pods, writes, CPU and memory of the controller`,
    goals: goalNames(agents),
    async run(scope) {
      const here = stage();
      const template = await findTemplate(scope, here);
      const isLarge = agents >= large;
      const outcome = {
        ...(isLarge ? {} : await measureFew(scope, here)),
        bare: await measureBare(scope, here, template, agents),
        ...(isLarge ? {} : await measureUnpaced(scope, here, agents)),
        ...(await measurePaced(scope, here, agents, isLarge ? shortIdleSeconds : idleSeconds)),
      };
      return judge(agents, outcome, here);
    },
  };
}

/** A pod that the controller made. */
async function findTemplate(scope: Scope, stage: Stage): Promise<Pod> {
  const namespace = 'bench-template';
  await stage.makeNamespace(namespace);
  return withController(scope, stage, {}, async () => {
    await createAgents(scope, stage, { namespace, count: 1 });
    const labelSelector = `${agentLabel}=agent-0`;
    const { items } = await stage.client.list<Pod>(podResource, { namespace, labelSelector });
    const [pod] = items;
    if (pod === undefined) throw new Error('an Agent is Ready and has no pod');
    await removeAgents(stage, namespace);
    return templateOf(pod);
  });
}

async function measureFew(scope: Scope, stage: Stage): Promise<Pick<Outcome, 'few' | 'burst'>> {
  const taken = await withController(scope, stage, {}, async (controller) => {
    const first = await runAgents(scope, stage, controller, {
      namespace: 'bench-few',
      count: few,
      perSecond,
    });
    const second = await runAgents(scope, stage, controller, { namespace: 'bench-burst', count: burst });
    return { few: first, burst: second };
  });
  await removeAgents(stage, 'bench-few');
  await removeAgents(stage, 'bench-burst');
  return taken;
}

async function measureBare(scope: Scope, stage: Stage, template: Pod, count: number): Promise<Created> {
  const namespace = `bench-bare-${count}`;
  await stage.makeNamespace(namespace);
  const created = await createPods(scope, stage, { namespace, count, template });
  await removePods(stage, namespace);
  return created;
}

async function measureUnpaced(scope: Scope, stage: Stage, count: number): Promise<Pick<Outcome, 'unpaced'>> {
  const namespace = `bench-unpaced-${count}`;
  const run = (controller: Parameters<typeof runAgents>[2]) =>
    runAgents(scope, stage, controller, { namespace, count });
  const unpaced = await withController(scope, stage, {}, run);
  await removeAgents(stage, namespace);
  return { unpaced };
}

async function measurePaced(
  scope: Scope,
  stage: Stage,
  count: number,
  idleSeconds: number,
): Promise<Pick<Outcome, 'paced' | 'idle' | 'collectedSeconds'>> {
  const namespace = `bench-paced-${count}`;
  const taken = await withController(scope, stage, {}, async (controller) => {
    const paced = await runAgents(scope, stage, controller, { namespace, count, perSecond });
    return { paced, idle: await idle(stage, controller, idleSeconds) };
  });
  return { ...taken, collectedSeconds: await removeAgents(stage, namespace) };
}

function goalNames(agents: number): string[] {
  const always = [`ready-of-bare-${agents}`, `P22-behind-seconds-${agents}`, `P25-rss-mib-${agents}`];
  const once = ['P24-writes-per-child', 'P24-status-writes-per-agent', 'P24-reconciles-per-agent'];
  return agents >= large
    ? always
    : [...always, ...once, 'P24-idle-writes', 'P25-rss-mib-100', 'P27-p50-ms', 'P27-p99-ms'];
}

function judge(agents: number, outcome: Outcome, { audit }: Stage): BenchResult {
  const { few: some, burst: together, bare, unpaced, paced, idle: quiet } = outcome;
  const why = 'missing' in audit ? { skipped: audit.missing } : { skipped: 'not measured' };
  const { writes, children, reconciles } = paced;
  const delays = together?.delays;
  const goals: Readonly<Record<string, Omit<Goal, 'name'>>> = {
    [`ready-of-bare-${agents}`]: atLeast(0.25, '×', bare.readySeconds / (unpaced ?? paced).readySeconds),
    [`P22-behind-seconds-${agents}`]: atMost(2.5, 's', paced.readySeconds - paced.createdSeconds),
    [`P25-rss-mib-${agents}`]: atMost(256, 'MiB', paced.residentMiB),
    'P24-writes-per-child': atMost(1, '', writes ? writes.children / (sumOf(children) ?? 0) : why),
    'P24-status-writes-per-agent': atMost(2, '', writes ? writes.status / agents : why),
    'P24-reconciles-per-agent': atMost(4, '', reconciles / agents),
    'P24-idle-writes': atMost(0, '', quiet.writes?.all ?? why),
    'P25-rss-mib-100': atMost(128, 'MiB', some?.residentMiB ?? why),
    'P27-p50-ms': atMost(50, 'ms', delays?.p50 ?? why),
    'P27-p99-ms': atMost(250, 'ms', delays?.p99 ?? why),
  };
  const named = goalNames(agents).flatMap((name) => {
    const goal = goals[name];
    return goal === undefined ? [] : [{ name, ...goal }];
  });
  return {
    tables: [speedTable(outcome), costTable(agents, outcome), idleTable(outcome)],
    goals: named,
    samples: outcome,
    notes: notesOf(agents, quiet),
  };
}

function notesOf(agents: number, { seconds }: IdleRun): string[] {
  const shared = [
    'Bare: a client that creates the same pods and nothing else. API server, scheduler, kwok and what is measured',
    'share this machine: once it is busy, what an Agent costs the others counts as the controller’s.',
  ];
  return agents >= large
    ? [...shared, `The ratio to bare pods is of the run at ${perSecond} a second: it is no better than that.`]
    : [...shared, `Idle is ${seconds} s here; --idle-seconds 600 is what the contract names.`];
}

function atMost(target: number, unit: string, value: Goal['value']): Omit<Goal, 'name'> {
  return { op: '<=', target, unit, value };
}

function atLeast(target: number, unit: string, value: Goal['value']): Omit<Goal, 'name'> {
  return { op: '>=', target, unit, value };
}

function speedTable({ few: some, burst: together, bare, unpaced, paced }: Outcome): Table {
  const row = (title: string, run: (Created & Partial<AgentRun>) | undefined, count: number) =>
    run === undefined
      ? []
      : [
          [
            title,
            run.createdSeconds,
            run.readySeconds,
            count / run.readySeconds,
            run.delays?.p50 ?? '',
            run.delays?.p99 ?? '',
          ],
        ];
  const { agents } = paced;
  return {
    title: 'From the first creation until all are Ready',
    columns: ['', 'created s', 'Ready s', 'a second', 'pod POST p50 ms', 'p99 ms'],
    rows: [
      ...row(`${few} Agents, ${perSecond} a second`, some, few),
      ...row(`${burst} Agents at once`, together, burst),
      ...row(`${agents} bare pods at once`, bare, agents),
      ...row(`${agents} Agents at once`, unpaced, agents),
      ...row(`${agents} Agents, ${perSecond} a second`, paced, agents),
    ],
  };
}

function costTable(agents: number, { few: some, unpaced, paced }: Outcome): Table {
  const runs = [some, unpaced, paced].filter((run) => run !== undefined);
  return {
    title: 'What the controller did for them',
    columns: [
      'an Agent',
      ...(some ? [String(few)] : []),
      ...(unpaced ? [`${agents} at once`] : []),
      `${agents}`,
    ],
    rows: costRows(runs),
  };
}

function idleTable({ idle: quiet, collectedSeconds }: Outcome): Table {
  const { seconds, writes, reconciles, cpuShare } = quiet;
  return {
    title: `Then nobody asks for anything for ${seconds} s`,
    columns: ['controller', 'value'],
    rows: [
      ['writes, Leases aside', writes?.all ?? ''],
      ...Object.entries(writes?.kinds ?? {}),
      ['reconciles', reconciles],
      ['% of a core', cpuShare * 100],
      ['afterwards: seconds until all deleted Agents’ children were gone', collectedSeconds],
    ],
  };
}
