import { type Agent, agentSpecSchema } from '#api/agent.ts';
import { findCondition } from '#api/conditions.ts';
import { apiVersion } from '#api/group.ts';
import { taskLabel } from '#api/labels.ts';
import type { Task } from '#api/task.ts';
import { digestOf } from '#kit/digest.ts';
import { isTrue } from '../conditions.ts';
import { claim } from './claim.ts';
import type { TaskFacts } from './facts.ts';
import { readyInstances } from './pick.ts';
import { ended, statusWith } from './status.ts';
import type { Step } from './step.ts';

/**
 * Pure. The next attempt of a Task with `isolation: Pod`: an Agent of its own is made, and has the attempt as soon as
 * it is Ready.
 */
export function stepIsolated(facts: TaskFacts): Step {
  const { task, own, choice } = facts;
  const name = isolatedName(task, (task.status?.attempts ?? 0) + 1);
  const agent = own.find(({ metadata }) => metadata.name === name);
  if (agent !== undefined) return awaitAgent(facts, agent);
  if (!choice.ok) return { status: statusWith(facts, { phase: 'Pending' }, { stall: choice }) };
  return {
    create: [isolatedAgent(task, choice.agent, name)],
    status: statusWith(facts, { phase: 'Pending' }),
  };
}

function awaitAgent(facts: TaskFacts, agent: Agent): Step {
  const { name } = agent.metadata;
  const [instance] = readyInstances(agent);
  if (instance !== undefined) return claim(facts, name, instance.uid);
  const conditions = agent.status?.conditions;
  const refused = findCondition(conditions, 'Accepted');
  const halted = findCondition(conditions, 'Halted');
  const end = refused?.status === 'False' ? refused : halted?.status === 'True' ? halted : undefined;
  if (end !== undefined) {
    const message = `Its own Agent ${name} does not start: ${end.message}`;
    return ended(facts, { phase: 'Failed', reason: 'Failed', message });
  }
  if (!isTrue(conditions, 'Degraded')) return { status: statusWith(facts, { phase: 'Pending' }) };
  const message = `Its own Agent ${name} is not Ready: ${findCondition(conditions, 'Degraded')?.message}`;
  return { status: statusWith(facts, { phase: 'Pending' }, { stall: { reason: 'AgentNotReady', message } }) };
}

/** Names of Agents have at most 63 characters. */
export function isolatedName({ metadata }: Task, attempt: number): string {
  const readable = metadata.name.slice(0, 40).replaceAll('.', '-').replace(/-+$/, '');
  return `${readable}-${digestOf(metadata.uid ?? '', 8)}-${attempt}`;
}

/** With the spec of the one that the Task names: one instance, without its volume. */
function isolatedAgent(task: Task, target: Agent, name: string): Agent {
  const { namespace, uid = '', name: owner } = task.metadata;
  const { storage: _storage, runtime, ...spec } = target.spec;
  return {
    apiVersion,
    kind: 'Agent',
    metadata: {
      name,
      ...(namespace !== undefined && { namespace }),
      labels: { [taskLabel]: labelValue(owner) },
      ownerReferences: [{ apiVersion, kind: 'Task', name: owner, uid, controller: true }],
    },
    spec: agentSpecSchema.parse({
      ...spec,
      runtime: { ...runtime, replicas: 1, suspend: false },
      storage: { retain: false },
    }),
  };
}

function labelValue(name: string): string {
  return name.length <= 63 ? name : `${name.slice(0, 54)}-${digestOf(name, 8)}`;
}
