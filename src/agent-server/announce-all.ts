import type { Clock } from '#kit/clock.ts';
import type { Log } from '#kit/log.ts';
import type { Settings } from './config/settings.ts';
import type { Changes } from './http/changes.ts';
import { tellExecutions } from './http/executions.ts';
import { tellQueueNews } from './http/queue-news.ts';
import { tellTaskChanges } from './http/task-lines.ts';
import { announceChanges } from './mcp/announce.ts';
import type { McpServices } from './mcp/services.ts';
import type { TaskService } from './tasks/service.ts';

export interface AnnounceOptions {
  readonly services: McpServices;
  readonly changes: Changes;
  readonly tasks: TaskService;
  readonly clock: Clock;
  readonly log: Log;
  readonly settings: Pick<Settings, 'maxTrackedTasks'>;
}

/** What is announced until it is stopped. */
export interface Announcing {
  /** Of the lists nothing more. */
  readonly stopAnnouncing: () => void;
  /** Of the queue and the controller's tasks nothing more. */
  readonly stopTelling: () => void;
}

/** To clients and controller: what changes in the lists, of the queue, and of the controller's tasks. */
export function announceAll(options: AnnounceOptions): Announcing {
  const { services, changes, tasks, clock, log, settings } = options;
  const stopAnnouncing = announceChanges(services, changes);
  const stopQueue = tellQueueNews({ tasks, clock, send: changes.tell });
  const stopTasks = tellTaskChanges({ tasks, clock, send: changes.tell, log });
  const stopExecutions = tellExecutions({ tasks, most: settings.maxTrackedTasks, send: changes.tell, log });
  const stopTelling = () => {
    stopExecutions();
    stopQueue();
    stopTasks();
  };
  return { stopAnnouncing, stopTelling };
}
