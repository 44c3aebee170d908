import { type Agent, agentSpecSchema } from '#api/agent.ts';
import { taskSpecSchema } from '#api/task/spec.ts';
import type { Task } from '#api/task.ts';
import type { TaskLine } from '#wire/task-line.ts';
import { noDependencies } from './dependencies.ts';
import type { AttemptFacts, TaskFacts } from './facts.ts';
import type { Step } from './step.ts';

/** Facts and objects for this folder's tests: everything is well unless a test says otherwise. */

export const noon = Date.parse('2026-01-01T12:00:00Z');

export function makeTask(spec: object = {}, metadata: Partial<Task['metadata']> = {}): Task {
  return {
    apiVersion: 'ploinky.dev/v1alpha1',
    kind: 'Task',
    metadata: {
      name: 'build',
      namespace: 'default',
      uid: 'uid-build',
      generation: 1,
      resourceVersion: '7',
      creationTimestamp: '2026-01-01T11:00:00Z',
      ...metadata,
    },
    spec: taskSpecSchema.parse({ agentRef: { name: 'demo' }, tool: 'build', input: { a: 1 }, ...spec }),
  };
}

/** Ready, with one instance named after it. */
export function makeAgent(name: string, spec: object = {}, ready = true): Agent {
  const time = '2026-01-01T11:00:00Z';
  const reason = ready ? 'Ready' : 'Starting';
  return {
    apiVersion: 'ploinky.dev/v1alpha1',
    kind: 'Agent',
    metadata: { name, namespace: 'default', uid: `uid-${name}`, generation: 1 },
    spec: agentSpecSchema.parse(spec),
    status: {
      conditions: [
        {
          type: 'Ready',
          status: ready ? 'True' : 'False',
          reason,
          message: 'It starts.',
          lastTransitionTime: time,
        },
      ],
      endpoints: [
        { name: `${name}-0`, uid: `${name}-i0`, address: 'unix:/run/x', ready, terminating: false },
      ],
    },
  };
}

export function makeFacts(task: Task, facts: Partial<TaskFacts> = {}): TaskFacts {
  return {
    task,
    refusals: [],
    dependencies: noDependencies,
    choice: { ok: true, agent: makeAgent('demo'), instance: 'demo-i0' },
    attempt: undefined,
    own: [],
    strays: [],
    unnoted: false,
    needed: false,
    identity: 'here',
    now: noon,
    ...facts,
  };
}

export function makeAttempt(attempt: Partial<AttemptFacts> = {}): AttemptFacts {
  return {
    line: undefined,
    holder: undefined,
    trouble: undefined,
    ask: { type: 'ask', instance: 'demo-i0', known: false },
    noRoom: false,
    isLost: false,
    ...attempt,
  };
}

export function makeLine(line: Partial<TaskLine> = {}): TaskLine {
  return {
    type: 'task',
    key: 'uid-build/1',
    id: 't1',
    status: 'running',
    reason: '',
    message: '',
    exitCode: null,
    startedAt: '2026-01-01T11:59:00.123Z',
    finishedAt: null,
    resultBytes: 0,
    isError: false,
    ...line,
  };
}

/** The Task as it is after a step's status was written. */
export function after(task: Task, { status }: Step): Task {
  return status === undefined ? task : { ...task, status };
}
