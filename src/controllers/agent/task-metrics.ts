import type { Labels, Metrics } from '#kube/metrics.ts';
import type { AgentIdentity } from '#wire/keys.ts';
import type { QueueLine } from '#wire/queue-line.ts';

/** An agent-server that is listened to. */
interface Place {
  readonly agent: AgentIdentity;
  readonly instance: string;
}

/** What agent-servers say of their queues, as metrics of the controller. */
export interface TaskMetrics {
  told(place: Place, line: QueueLine): void;
  /** Nobody listens there any more. */
  closed(place: Place): void;
}

const states = ['pending', 'running', 'input_required'] as const;
type Depth = Readonly<Record<(typeof states)[number], number>>;

/** Seconds. */
const buckets = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800, 7_200];

/**
 * Agents appear with the first task that they tell of. Depths are those of the agent's instances together; an agent
 * that nobody listens to any more stays with 0.
 */
export function createTaskMetrics(metrics: Metrics): TaskMetrics {
  /** By agent, then by instance. */
  const depths = new Map<string, { readonly labels: Labels; readonly instances: Map<string, Depth> }>();
  metrics.gauge({
    name: 'ploinky_tasks',
    help: 'Durable tasks of an agent that have not ended, by state.',
    labelNames: ['namespace', 'agent', 'state'],
    collect(gauge) {
      for (const [key, { labels, instances }] of depths) {
        const all = [...instances.values()];
        for (const state of states) {
          gauge.set(
            { ...labels, state },
            all.reduce((sum, depth) => sum + depth[state], 0),
          );
        }
        if (all.length === 0) depths.delete(key);
      }
    },
  });
  const ended = metrics.counter({
    name: 'ploinky_tasks_ended_total',
    help: 'Durable tasks of an agent that ended, by outcome.',
    labelNames: ['namespace', 'agent', 'outcome'],
  });
  const waited = metrics.histogram({
    name: 'ploinky_task_wait_seconds',
    help: 'From the acknowledgement of a durable task to the start of its last attempt.',
    labelNames: ['namespace', 'agent'],
    buckets,
  });
  const ran = metrics.histogram({
    name: 'ploinky_task_run_seconds',
    help: 'From the start of the last attempt of a durable task to its end.',
    labelNames: ['namespace', 'agent'],
    buckets,
  });
  return {
    told({ agent, instance }, { pending, running, inputRequired, ended: ends }) {
      const labels = labelsOf(agent);
      const known = depths.get(agent.uid) ?? { labels, instances: new Map<string, Depth>() };
      depths.set(agent.uid, known);
      known.instances.set(instance, { pending, running, input_required: inputRequired });
      for (const [outcome, waitedMs, ranMs] of ends) {
        ended.inc({ ...labels, outcome });
        waited.observe(labels, waitedMs / 1_000);
        ran.observe(labels, ranMs / 1_000);
      }
    },
    closed({ agent, instance }) {
      depths.get(agent.uid)?.instances.delete(instance);
    },
  };
}

function labelsOf({ namespace, name }: AgentIdentity): Labels {
  return { namespace, agent: name };
}
