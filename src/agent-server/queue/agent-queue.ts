import { join } from 'node:path';
import type { AgentServerConfig } from '#api/agent-server-config.ts';
import type { Settings } from '../config/settings.ts';
import { createTaskQueue, type DurableQueueOptions } from './durable-queue.ts';
import type { TaskQueue } from './queue.ts';
import { defaultLimits } from './store/operations.ts';

export interface AgentQueueOptions
  extends Pick<
    DurableQueueOptions,
    'clock' | 'random' | 'log' | 'logTailBytes' | 'redactor' | 'startThread'
  > {
  readonly paths: AgentServerConfig['paths'];
  readonly settings: Settings;
}

/** The name of the queue's folder in the workspace, and of the reference's file. */
const queueName = '.tasksQueue';

/** The queue of an agent's tasks, in its workspace. */
export function openAgentQueue({ paths, settings, ...options }: AgentQueueOptions): TaskQueue {
  return createTaskQueue({
    ...options,
    folder: join(paths.workspace, queueName),
    imports: [join(paths.code, queueName)],
    limits: {
      maxPending: settings.maxQueuedCalls,
      maxPendingBytes: settings.maxQueuedBytes,
      maxAsking: settings.maxParkedCalls,
      maxFinished: settings.maxFinishedTasks,
      graceMs: defaultLimits.graceMs,
      maxFinishedBytes: settings.maxFinishedBytes,
      retentionMs: settings.taskRetentionMs,
    },
  });
}
