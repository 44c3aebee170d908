import type { Agent } from '#api/agent.ts';
import { findCondition } from '#api/conditions.ts';
import { taskLabel } from '#api/labels.ts';
import type { Task } from '#api/task.ts';
import type { Clock } from '#kit/clock.ts';
import type { Log } from '#kit/log.ts';
import type { Random } from '#kit/random.ts';
import type { CacheEvent } from '#kube/cache.ts';
import type { Client } from '#kube/client.ts';
import { type Controller, createController } from '#kube/controller.ts';
import type { EventRecorder } from '#kube/events.ts';
import type { Informer } from '#kube/informer.ts';
import { keyOf, type ObjectKey } from '#kube/key.ts';
import type { Metrics } from '#kube/metrics.ts';
import { settled } from '#kube/result.ts';
import { callbackSource, informerSource, ownersOfKind } from '#kube/sources.ts';
import { openTaskLink } from '#wire/tasks.ts';
import type { Attempts } from './attempts.ts';
import {
  agentIndex,
  dependencyIndex,
  inNamespace,
  instanceIndex,
  openIndex,
  targetIndex,
  uidIndex,
} from './indexes.ts';
import { createLinks } from './links.ts';
import { currentKey, isFinal, splitKey } from './phases.ts';
import { createTaskReconciler } from './reconcile.ts';
import { createStrays } from './strays.ts';
import { createTracker } from './tracker.ts';

export interface TaskControllerOptions {
  readonly client: Client;
  /** Made with `taskIndexes`. */
  readonly tasks: Informer<Task>;
  readonly agents: Informer<Agent>;
  /** Is told what agent-servers say; by this alone it knows where they are. */
  readonly attempts: Attempts;
  readonly events: EventRecorder;
  /** Which process claims: a pod's or a host's name. */
  readonly identity: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics?: Metrics;
}

/** Tasks reconciled at the same time: most of that time goes by in waiting for answers. */
const concurrency = 32;

/** Tasks → attempts at agent-servers. Watches Tasks, Agents, and what agent-servers say of attempts. */
export function createTaskController(options: TaskControllerOptions): Controller {
  const { tasks, agents, attempts, events } = options;
  const links = createLinks({ ...options, open: openTaskLink });
  const reconciler = createTaskReconciler({
    ...options,
    links,
    tasks: tasks.cache,
    agents: agents.cache,
    observe: tasks.observe,
    observeAgent: agents.observe,
  });
  const strays = createStrays({ ...options, tasks: tasks.cache, end: reconciler.end });
  const tracker = createTracker({
    ...options,
    tasks: tasks.cache,
    agents: agents.cache,
    observe: tasks.observe,
  });
  const controller = createController({
    ...options,
    name: 'task',
    concurrency,
    sources: [
      informerSource(tasks),
      informerSource(tasks, { keys: (event) => concernedByTask(tasks, event) }),
      informerSource(agents, { keys: (event) => concernedByAgent(tasks, event), when: mattersToTasks }),
      callbackSource((enqueue) => listen(options, strays, enqueue)),
      callbackSource(() => attempts.onBegan(tracker.began)),
      callbackSource(() =>
        tasks.cache.subscribe((event) => {
          if (event.type === 'deleted' || isFinal(event.object)) tracker.changed(event.object);
          if (event.type === 'deleted') sayDeleted(event.object, events);
        }),
      ),
    ],
    async reconcile(key) {
      const task = tasks.cache.get(key);
      if (task === undefined || task.metadata.deletionTimestamp !== undefined) return settled;
      const result = await reconciler.reconcile(task);
      const { uid = '' } = task.metadata;
      const now = tasks.cache.get(key);
      // It may have gone while it was being given away.
      if (now === undefined) strays.gone(uid);
      else if (isFinal(now) && attempts.unended(uid).length === 0) attempts.forget(uid);
      return result;
    },
  });
  return {
    name: controller.name,
    start: () => controller.start(),
    enqueue: (key) => controller.enqueue(key),
    async stop(stopOptions) {
      await controller.stop(stopOptions);
      strays.close();
      tracker.close();
      links.close();
    },
  };
}

type Strays = ReturnType<typeof createStrays>;

/** What agent-servers say concerns the Task of the attempt; of a Task that is gone, it has to end. */
function listen(
  { tasks, attempts }: TaskControllerOptions,
  strays: Strays,
  enqueue: (key: ObjectKey) => void,
): () => void {
  const stops = [
    attempts.onTold((key) => {
      const [task] = tasks.cache.byIndex(uidIndex, splitKey(key)?.uid ?? '');
      if (task === undefined) strays.told(key);
      else enqueue(keyOf(task));
    }),
    attempts.onOpened(({ agent, instance }) => {
      const held = tasks.cache.byIndex(instanceIndex, instance);
      // One of an instance that is gone may be known to this one.
      const others = tasks.cache.byIndex(agentIndex, `${agent.namespace}/${agent.name}`);
      for (const task of new Set([...held, ...others])) {
        attempts.calm(currentKey(task));
        enqueue(keyOf(task));
      }
    }),
    attempts.onClosed(({ instance }) => {
      for (const task of tasks.cache.byIndex(instanceIndex, instance)) enqueue(keyOf(task));
    }),
    tasks.cache.subscribe(({ type, object }) => {
      if (type === 'deleted') strays.gone(object.metadata.uid ?? '');
    }),
  ];
  return () => {
    for (const stop of stops) stop();
  };
}

/** Those that depend on it and that it depends on, and the schedule that made it. */
function concernedByTask(tasks: Informer<Task>, event: CacheEvent<Task>): ObjectKey[] {
  const { object, old } = event;
  const isNews = event.type !== 'updated' || isFinal(object) !== (old !== undefined && isFinal(old));
  if (!isNews) return [];
  const dependents = tasks.cache.byIndex(dependencyIndex, inNamespace(object, object.metadata.name));
  const { namespace = '' } = object.metadata;
  const needed = (object.spec.dependsOn ?? []).map(({ name }) => ({ namespace, name }));
  return [...dependents.map(keyOf), ...needed, ...ownersOfKind<Task>('Task')(event)];
}

/** Those that it has, those that wait for it, and the one that it was made for. */
function concernedByAgent(tasks: Informer<Task>, event: CacheEvent<Agent>): ObjectKey[] {
  const { namespace = '', name, labels } = event.object.metadata;
  if (labels?.[taskLabel] !== undefined) return ownersOfKind<Agent>('Task')(event);
  const named = `${namespace}/${name}`;
  return [
    ...tasks.cache.byIndex(agentIndex, named),
    ...tasks.cache.byIndex(targetIndex, named),
    ...tasks.cache.byIndex(openIndex, namespace),
  ].map(keyOf);
}

/** Whether it can take work, where, and which. */
function mattersToTasks({ object, old }: CacheEvent<Agent>): boolean {
  return old === undefined || sightOf(object) !== sightOf(old);
}

function sightOf({ status, spec, metadata }: Agent): string {
  const { runtime, role, capabilities } = spec;
  const conditions = (['Accepted', 'Ready', 'Degraded', 'Halted'] as const).map((type) => {
    const condition = findCondition(status?.conditions, type);
    return [condition?.status, condition?.reason];
  });
  const runs = [runtime.replicas, runtime.suspend];
  const isGoing = metadata.deletionTimestamp !== undefined;
  return JSON.stringify([status?.endpoints, conditions, runs, role, capabilities, isGoing]);
}

function sayDeleted(task: Task, events: EventRecorder): void {
  const { phase } = task.status ?? {};
  if (phase !== 'Queued' && phase !== 'Running') return;
  events.event(
    task,
    'Normal',
    'Cancelled',
    'The Task was deleted before it had ended: its attempt is ended.',
  );
}
