import type { Agent } from '#api/agent.ts';
import { apiVersion } from '#api/group.ts';
import { taskLabel, trackedLabel } from '#api/labels.ts';
import { taskResource } from '#api/resources.ts';
import { taskSpecSchema } from '#api/task/spec.ts';
import type { Task } from '#api/task.ts';
import type { Clock } from '#kit/clock.ts';
import { messageOf } from '#kit/errors.ts';
import type { Log } from '#kit/log.ts';
import type { Cache } from '#kube/cache.ts';
import type { Client } from '#kube/client.ts';
import { ApiError, isAlreadyExists, isConflict, isNotFound } from '#kube/errors.ts';
import type { EventRecorder } from '#kube/events.ts';
import type { ExecutionLine } from '#wire/execution-line.ts';
import { ownersIndex } from './indexes.ts';
import type { TaskPlace } from './listener.ts';
import { isFinal } from './phases.ts';

/**
 * Makes a Task for each task that a client of an Agent with `spec.tasks.track: Always` began. The Task's name is the
 * execution's, so that it is made once, whoever makes it; the reconciler then gives its key to the execution, after
 * which the agent-server tells of it as of any other attempt, and no more as one that nobody stands for.
 */
export interface Tracker {
  began(place: TaskPlace, line: ExecutionLine): void;
  /** A Task is gone, or has ended: there may be room for another one. */
  changed(task: Task): void;
  close(): void;
}

export interface TrackerOptions {
  readonly client: Pick<Client, 'create' | 'delete'>;
  /** Made with `taskIndexes`. */
  readonly tasks: Pick<Cache<Task>, 'get' | 'byIndex'>;
  readonly agents: Pick<Cache<Agent>, 'get'>;
  readonly events: Pick<EventRecorder, 'event'>;
  readonly observe: (task: Task) => void;
  readonly clock: Pick<Clock, 'now' | 'after'>;
  readonly log: Log;
}

const fieldManager = 'ploinky-task-controller';
/** Milliseconds until what could not be made is tried again. */
const againMs = 5_000;
/** Of one Agent, for which there is no room now. */
const mostWaiting = 200;

interface Waiting {
  readonly place: TaskPlace;
  readonly line: ExecutionLine;
}

export function createTracker(options: TrackerOptions): Tracker {
  /** By uid of the Agent, then by id, in the order in which they were told of. */
  const waiting = new Map<string, Map<string, Waiting>>();
  const busy = new Set<string>();
  const timers = new Set<() => void>();
  let isClosed = false;

  /** One at a time of each Agent: how many there are is what decides. */
  async function work(uid: string): Promise<void> {
    if (busy.has(uid)) return;
    busy.add(uid);
    try {
      for (;;) {
        const [next] = waiting.get(uid)?.values() ?? [];
        if (isClosed || next === undefined || !(await appear(next, options))) break;
        waiting.get(uid)?.delete(next.line.id);
      }
      if (waiting.get(uid)?.size === 0) waiting.delete(uid);
    } catch (error) {
      const { name, namespace } = options.agents.get(agentKey(waiting.get(uid)))?.metadata ?? {};
      options.log.warn('a task of a client does not appear as a Task yet', {
        ...{ agent: name, namespace, error: messageOf(error) },
      });
      later(uid);
    } finally {
      busy.delete(uid);
    }
  }
  function later(uid: string): void {
    const cancel = options.clock.after(againMs, () => {
      timers.delete(cancel);
      void work(uid);
    });
    timers.add(cancel);
  }
  return {
    began(place, line) {
      const { agent } = place;
      const { tasks } = trackedAgent(place, options)?.spec ?? {};
      if (tasks === undefined || isOver(line, tasks.ttlSecondsAfterFinished, options)) return;
      const known = waiting.get(agent.uid) ?? new Map<string, Waiting>();
      // What is left out here is told of again on the next stream.
      if (known.size >= mostWaiting && !known.has(line.id)) return;
      waiting.set(agent.uid, known.set(line.id, { place, line }));
      void work(agent.uid);
    },
    changed({ metadata }) {
      for (const { uid } of metadata.ownerReferences ?? []) if (waiting.has(uid)) void work(uid);
    },
    close() {
      isClosed = true;
      for (const cancel of timers) cancel();
    },
  };
}

function agentKey(waiting: ReadonlyMap<string, Waiting> | undefined): { namespace: string; name: string } {
  const [first] = waiting?.values() ?? [];
  const { namespace = '', name = '' } = first?.place.agent ?? {};
  return { namespace, name };
}

/** The Agent, when that asks for it. What an agent-server says counts for its own Agent only. */
function trackedAgent({ agent }: TaskPlace, { agents }: TrackerOptions): Agent | undefined {
  const found = agents.get({ namespace: agent.namespace, name: agent.name });
  if (found?.metadata.uid !== agent.uid || found.metadata.deletionTimestamp !== undefined) return undefined;
  if (found.metadata.labels?.[taskLabel] !== undefined) return undefined;
  return found.spec.tasks?.track === 'Always' ? found : undefined;
}

/** It would be deleted at once. */
function isOver({ finishedAt }: ExecutionLine, ttlSeconds: number, { clock }: TrackerOptions): boolean {
  return finishedAt !== null && Date.parse(finishedAt) + ttlSeconds * 1000 <= clock.now();
}

/** False: there is no room for it now. Throws when the API does not take it. */
async function appear({ place, line }: Waiting, options: TrackerOptions): Promise<boolean> {
  const agent = trackedAgent(place, options);
  if (agent === undefined) return true;
  const task = taskFor(agent, line);
  const { namespace = '', name } = task.metadata;
  if (options.tasks.get({ namespace, name }) !== undefined) return true;
  if (!(await makeRoom(agent, options))) return false;
  try {
    options.observe(await options.client.create<Task>(taskResource, task, { fieldManager }));
  } catch (error) {
    if (isAlreadyExists(error)) return true;
    if (!(error instanceof ApiError) || ![400, 403, 422].includes(error.status)) throw error;
    sayLeftOut(agent, options, `the API refuses it: ${error.message}`);
  }
  return true;
}

async function makeRoom(agent: Agent, options: TrackerOptions): Promise<boolean> {
  const most = agent.spec.tasks?.maxTracked ?? 0;
  const own = options.tasks
    .byIndex(ownersIndex, agent.metadata.uid ?? '')
    .filter(({ spec }) => spec.execution !== undefined);
  if (own.length < most) return true;
  const [oldest] = own.filter(isFinal).toSorted((a, b) => endOf(a) - endOf(b));
  if (oldest === undefined) {
    sayLeftOut(agent, options, `spec.tasks.maxTracked (${most}) Tasks are there, and none has ended`);
    return false;
  }
  const { namespace = '', name, uid } = oldest.metadata;
  try {
    const preconditions = uid === undefined ? {} : { preconditions: { uid } };
    await options.client.delete(taskResource, { namespace, name }, preconditions);
  } catch (error) {
    if (!isNotFound(error) && !isConflict(error)) throw error;
  }
  return true;
}

function endOf({ status }: Task): number {
  return Date.parse(status?.completedAt ?? '') || 0;
}

function sayLeftOut(agent: Agent, { events }: TrackerOptions, why: string): void {
  events.event(agent, 'Warning', 'NotTracked', `A task of a client does not appear as a Task: ${why}.`);
}

/** Pure. What stands for the execution; to reconcile it begins nothing. */
function taskFor({ metadata, spec }: Agent, { id, tool, input }: ExecutionLine): Task {
  const { name, namespace, uid = '' } = metadata;
  return {
    apiVersion,
    kind: 'Task',
    metadata: {
      name: `${name}-${id}`,
      ...(namespace !== undefined && { namespace }),
      labels: { [trackedLabel]: name },
      ownerReferences: [{ apiVersion, kind: 'Agent', name, uid, controller: true }],
    },
    spec: taskSpecSchema.parse({
      agentRef: { name },
      tool,
      ...(input !== undefined && Object.keys(input).length <= mostMembers && { input }),
      execution: { id },
      ttlSecondsAfterFinished: spec.tasks?.ttlSecondsAfterFinished,
    }),
  };
}

/** Of `spec.input`. */
const mostMembers = 256;
