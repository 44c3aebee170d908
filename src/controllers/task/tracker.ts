import type { Agent } from '#api/agent.ts';
import { apiVersion } from '#api/group.ts';
import { taskLabel, trackedLabel } from '#api/labels.ts';
import { taskResource } from '#api/resources.ts';
import { taskSpecSchema } from '#api/task/spec.ts';
import type { Task } from '#api/task.ts';
import type { Clock } from '#kit/clock.ts';
import { digestOf } from '#kit/digest.ts';
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
 * Makes a Task for each task that a client of an Agent with `spec.tasks.track: Always` began. The Task's name follows
 * from the execution's id, so that it is made once, whoever makes it; the reconciler then gives its key to the execution, after
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
  const room = createRoom(options);
  const refusals = createRefusals(options);
  /** What ends the pause of an Agent of which something could not be made, by its uid. */
  const pauses = new Map<string, () => void>();
  let isClosed = false;

  /** One at a time of each Agent: how many there are is what decides. */
  async function work(uid: string): Promise<void> {
    if (busy.has(uid) || pauses.has(uid)) return;
    busy.add(uid);
    for (;;) {
      const known = waiting.get(uid);
      const [next] = known?.values() ?? [];
      if (isClosed || known === undefined || next === undefined) break;
      try {
        if (!(await appear(next, room, options))) break;
        known.delete(next.line.id);
        refusals.passed(uid);
      } catch (error) {
        fail(known, next, error);
        break;
      }
    }
    if (waiting.get(uid)?.size === 0) waiting.delete(uid);
    busy.delete(uid);
  }
  /** The others of the Agent go before it from now on. */
  function fail(known: Map<string, Waiting>, failed: Waiting, error: unknown): void {
    const { name, namespace, uid } = failed.place.agent;
    const { id } = failed.line;
    options.log.warn('a task of a client does not appear as a Task yet', {
      ...{ agent: name, namespace, error: messageOf(error) },
    });
    refusals.say(failed.place, error);
    const newest = known.get(id) ?? failed;
    known.delete(id);
    known.set(id, newest);
    if (isClosed) return;
    const cancel = options.clock.after(againMs, () => {
      pauses.delete(uid);
      void work(uid);
    });
    pauses.set(uid, cancel);
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
      for (const cancel of pauses.values()) cancel();
    },
  };
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

/** False: there is no room for it now. Throws when the API does not take it now. */
async function appear({ place, line }: Waiting, room: Room, options: TrackerOptions): Promise<boolean> {
  const agent = trackedAgent(place, options);
  if (agent === undefined) return true;
  const task = taskFor(agent, line);
  if (task === undefined) {
    sayLeftOut(agent, options, 'no Task can say which tool it is');
    return true;
  }
  const { namespace = '', name } = task.metadata;
  if (options.tasks.get({ namespace, name }) !== undefined) return true;
  if (!(await room.make(agent))) return false;
  try {
    options.observe(await options.client.create<Task>(taskResource, task, { fieldManager }));
  } catch (error) {
    if (isAlreadyExists(error)) return true;
    if (!hasStatus(error, forGood)) throw error;
    sayLeftOut(agent, options, `the API refuses it: ${error.message}`);
  }
  return true;
}

/** The API would say the same of it the next time. */
const forGood = [400, 413, 422];
/** A quota that is full, a right or a CRD that is being replaced: it passes, but somebody may have to do something. */
const forNow = [403, 404];

function hasStatus(error: unknown, statuses: readonly number[]): error is ApiError {
  return error instanceof ApiError && statuses.includes(error.status);
}

/** Says of an Agent that the API refuses its Tasks for now, once until it takes one. */
function createRefusals(options: TrackerOptions) {
  const said = new Set<string>();
  return {
    say(place: TaskPlace, error: unknown): void {
      const agent = trackedAgent(place, options);
      if (agent === undefined || said.has(place.agent.uid) || !hasStatus(error, forNow)) return;
      said.add(place.agent.uid);
      sayLeftOut(agent, options, `the API refuses it for now: ${error.message}`);
    },
    passed: (uid: string) => void said.delete(uid),
  };
}

interface Room {
  /** False: there is none, and none can be made now. */
  make(agent: Agent): Promise<boolean>;
}

function createRoom(options: TrackerOptions): Room {
  /** By uid of the Agent, the uids of Tasks that were deleted and that the cache still has. */
  const deleted = new Map<string, Set<string>>();
  return {
    async make(agent) {
      const most = agent.spec.tasks?.maxTracked ?? 0;
      const agentUid = agent.metadata.uid ?? '';
      const known = options.tasks.byIndex(ownersIndex, agentUid);
      const there = new Set(known.map(({ metadata }) => metadata.uid));
      const gone = new Set([...(deleted.get(agentUid) ?? [])].filter((uid) => there.has(uid)));
      if (gone.size === 0) deleted.delete(agentUid);
      const own = known.filter(
        ({ spec, metadata }) => spec.execution !== undefined && !gone.has(metadata.uid ?? ''),
      );
      if (own.length < most) return true;
      const [oldest] = own.filter(isFinal).toSorted((a, b) => endOf(a) - endOf(b));
      if (oldest === undefined) {
        sayLeftOut(agent, options, `spec.tasks.maxTracked (${most}) Tasks are there, and none has ended`);
        return false;
      }
      await remove(oldest, options);
      deleted.set(agentUid, gone.add(oldest.metadata.uid ?? ''));
      return true;
    },
  };
}

async function remove({ metadata }: Task, { client }: TrackerOptions): Promise<void> {
  const { namespace = '', name, uid } = metadata;
  try {
    const preconditions = uid === undefined ? {} : { preconditions: { uid } };
    await client.delete(taskResource, { namespace, name }, preconditions);
  } catch (error) {
    if (!isNotFound(error) && !isConflict(error)) throw error;
  }
}

function endOf({ status }: Task): number {
  return Date.parse(status?.completedAt ?? '') || 0;
}

function sayLeftOut(agent: Agent, { events }: TrackerOptions, why: string): void {
  events.event(agent, 'Warning', 'NotTracked', `A task of a client does not appear as a Task: ${why}.`);
}

/**
 * Pure. What stands for the execution, undefined where no Task can; to reconcile it begins nothing. Its name does not tell the execution's id, which
 * is the right to look at it.
 */
function taskFor({ metadata, spec }: Agent, { id, tool, input }: ExecutionLine): Task | undefined {
  const { name, namespace, uid = '' } = metadata;
  const told = {
    ...{ agentRef: { name }, tool, execution: { id } },
    ttlSecondsAfterFinished: spec.tasks?.ttlSecondsAfterFinished,
  };
  // Arguments that no Task may have are left out; clients chose them.
  const whole = taskSpecSchema.safeParse({ ...told, input });
  const read = whole.success ? whole : taskSpecSchema.safeParse(told);
  if (!read.success) return undefined;
  return {
    apiVersion,
    kind: 'Task',
    metadata: {
      name: `${name}-${digestOf(id)}`,
      ...(namespace !== undefined && { namespace }),
      labels: { [trackedLabel]: name },
      ownerReferences: [{ apiVersion, kind: 'Agent', name, uid, controller: true }],
    },
    spec: read.data,
  };
}
