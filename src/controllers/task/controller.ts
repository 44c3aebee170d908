import { setCondition } from '#api/conditions.ts';
import type { Condition } from '#api/meta.ts';
import { taskResource } from '#api/resources.ts';
import type { Task, TaskStatus } from '#api/task.ts';
import { unimplementedFields } from '#api/unimplemented.ts';
import type { Clock } from '#kit/clock.ts';
import type { Log } from '#kit/log.ts';
import type { Random } from '#kit/random.ts';
import type { Client } from '#kube/client.ts';
import { type Controller, createController } from '#kube/controller.ts';
import type { Informer } from '#kube/informer.ts';
import type { Metrics } from '#kube/metrics.ts';
import { settled } from '#kube/result.ts';
import { exceptStatus, informerSource } from '#kube/sources.ts';

export interface TaskControllerOptions {
  readonly client: Client;
  readonly tasks: Informer<Task>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics?: Metrics;
}

const fieldManager = 'ploinky-task-controller';

/** Says of each Task whether this version carries it out. Nothing runs Tasks yet, so it refuses them, aloud. */
export function createTaskController(options: TaskControllerOptions): Controller {
  const { tasks, client, clock } = options;
  return createController({
    name: 'task',
    clock,
    random: options.random,
    log: options.log,
    ...(options.metrics && { metrics: options.metrics }),
    sources: [informerSource(tasks, { when: exceptStatus })],
    async reconcile(key) {
      const task = tasks.cache.get(key);
      if (task === undefined || task.metadata.deletionTimestamp !== undefined) return settled;
      const status = taskStatus(task, new Date(clock.now()));
      const written = await client.applyStatus<Task>(taskResource, task, status, {
        fieldManager,
        owned: ['conditions', 'observedGeneration'],
      });
      if (written !== task) tasks.observe(written);
      return settled;
    },
  });
}

/** Pure. Only the fields that this controller owns. */
export function taskStatus(task: Task, now: Date): TaskStatus {
  const { generation } = task.metadata;
  const observed = generation === undefined ? {} : { observedGeneration: generation };
  const refused = unimplementedFields('Task', task.spec);
  const verdict: Pick<Condition, 'status' | 'reason' | 'message'> =
    refused.length === 0
      ? { status: 'True', reason: 'Accepted', message: 'The Task is accepted.' }
      : {
          status: 'False',
          reason: 'NotImplemented',
          message: refused.map(({ path, message }) => `${path} ${message}.`).join(' '),
        };
  const conditions = setCondition(
    task.status?.conditions ?? [],
    { type: 'Accepted', ...verdict, ...observed },
    now,
  );
  return { ...observed, conditions: [...conditions] };
}
