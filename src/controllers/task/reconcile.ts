import type { Agent } from '#api/agent.ts';
import type { ObjectMeta, Resource } from '#api/meta.ts';
import { agentResource, taskResource } from '#api/resources.ts';
import type { Task } from '#api/task.ts';
import type { Client } from '#kube/client.ts';
import { ApiError, isAlreadyExists, isConflict, isNotFound } from '#kube/errors.ts';
import type { EventRecorder } from '#kube/events.ts';
import { keyOf } from '#kube/key.ts';
import { again, type Result, settled } from '#kube/result.ts';
import { type Caller, type CallerOptions, createCaller } from './call.ts';
import { type GatherOptions, gather, gatherSchedule, refusalsOf } from './gather.ts';
import { nextStep } from './next-step.ts';
import { isFinal } from './phases.ts';
import { nextScheduled } from './schedule/next.ts';
import { ownedFields, statusWith } from './status.ts';
import type { Step } from './step.ts';

export interface TaskReconcilerOptions extends GatherOptions, CallerOptions {
  readonly client: Pick<Client, 'applyStatus' | 'create' | 'delete' | 'get'>;
  readonly events: Pick<EventRecorder, 'event'>;
  /** Told what each write answered, so that the next reconcile does not read an older state. */
  readonly observe: (task: Task) => void;
  readonly observeAgent: (agent: Agent) => void;
}

export interface TaskReconciler {
  reconcile(task: Task): Promise<Result>;
  /** Ends an attempt whose Task is gone; see Caller. */
  end(key: string): Promise<boolean>;
}

const fieldManager = 'ploinky-task-controller';

export function createTaskReconciler(options: TaskReconcilerOptions): TaskReconciler {
  const caller = createCaller(options);
  return {
    reconcile: (task) => carryOut(task, stepOf(task, options), options, caller),
    end: (key) => caller.end(key),
  };
}

function stepOf(task: Task, options: TaskReconcilerOptions): Step {
  const { schedule } = task.spec;
  if (schedule === undefined || isFinal(task)) return nextStep(gather(task, options));
  const now = options.clock.now();
  const [first, ...others] = refusalsOf(task);
  if (first !== undefined) {
    const message = [first, ...others].map((refusal) => refusal.message).join(' ');
    return { status: statusWith({ task, now }, { phase: 'Pending' }, { refusal: { ...first, message } }) };
  }
  const facts = gatherSchedule(task, options);
  if (facts === undefined) return {};
  const { status, ...step } = nextScheduled(facts, schedule);
  const times = { lastScheduleTime: undefined, nextScheduleTime: undefined };
  return { ...step, status: statusWith({ task, now }, { ...times, ...status }) };
}

/** The only effects, in the order that makes each of them safe to do again. */
async function carryOut(
  task: Task,
  step: Step,
  options: TaskReconcilerOptions,
  caller: Caller,
): Promise<Result> {
  for (const object of step.create ?? []) {
    const refusal = await createOnce(object, options);
    if (refusal !== undefined)
      return sayRefused(task, `${object.kind} ${object.metadata.name}: ${refusal}`, options);
  }
  for (const metadata of step.remove ?? []) await remove(taskResource, metadata, options);
  const written = step.status === undefined ? task : await writeStatus(task, step, options);
  for (const metadata of step.removeAgents ?? []) await remove(agentResource, metadata, options);
  const heardMs = await caller.carryOut(written, step.effects ?? []);
  if (step.removeItself) await remove(taskResource, task.metadata, options);
  const waitMs = Math.min(heardMs ?? Number.POSITIVE_INFINITY, step.waitMs ?? Number.POSITIVE_INFINITY);
  return Number.isFinite(waitMs) ? again(waitMs) : settled;
}

async function writeStatus(task: Task, step: Step, options: TaskReconcilerOptions): Promise<Task> {
  const { client, observe, events } = options;
  const written = await client.applyStatus<Task>(taskResource, task, step.status ?? {}, {
    fieldManager,
    owned: ownedFields,
  });
  if (written === task) return task;
  observe(written);
  for (const { type, reason, message } of step.notices ?? []) events.event(written, type, reason, message);
  return written;
}

/** Milliseconds until what was refused is tried again. */
const refusedMs = 30_000;

async function sayRefused(task: Task, message: string, options: TaskReconcilerOptions): Promise<Result> {
  const stall = { reason: 'CreateRefused', message } as const;
  const status = statusWith({ task, now: options.clock.now() }, {}, { stall });
  await writeStatus(task, { status, notices: [{ type: 'Warning', ...stall }] }, options);
  return again(refusedMs);
}

/** One of the same name and owner is the same. Returns why it cannot be made, if it cannot. */
async function createOnce(object: Task | Agent, options: TaskReconcilerOptions): Promise<string | undefined> {
  const { client, observe, observeAgent } = options;
  const resource = object.kind === 'Task' ? taskResource : agentResource;
  try {
    const made = await client.create<Task | Agent>(resource, object, { fieldManager });
    if (made.kind === 'Task') observe(made);
    else observeAgent(made);
  } catch (error) {
    if (isRefusal(error)) return error.message;
    if (!isAlreadyExists(error)) throw error;
    return takenBy(object, await client.get<Task | Agent>(resource, keyOf(object)));
  }
  return undefined;
}

/** Why one that is there is not the one that was to be made. */
function takenBy({ metadata }: Task | Agent, found: Task | Agent): string | undefined {
  const uid = metadata.ownerReferences?.[0]?.uid;
  if (found.metadata.ownerReferences?.some((owner) => owner.controller && owner.uid === uid))
    return undefined;
  return `the name is taken by one that was made otherwise; delete or rename that ${found.kind}`;
}

/** However often it is sent as it is. */
function isRefusal(error: unknown): error is ApiError {
  return error instanceof ApiError && [400, 403, 422].includes(error.status);
}

async function remove(
  resource: Resource,
  { namespace = '', name, uid }: ObjectMeta,
  { client }: TaskReconcilerOptions,
): Promise<void> {
  try {
    const preconditions = uid === undefined ? {} : { preconditions: { uid } };
    await client.delete(resource, { namespace, name }, { ...preconditions, propagation: 'Background' });
  } catch (error) {
    // Gone already, or another one of the same name.
    if (!isNotFound(error) && !isConflict(error)) throw error;
  }
}
