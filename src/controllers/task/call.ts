import type { Task } from '#api/task.ts';
import { messageOf } from '#kit/errors.ts';
import type { Log } from '#kit/log.ts';
import type { TaskAnswer, TaskRequest } from '#wire/tasks.ts';
import type { Attempts } from './attempts.ts';
import type { Links } from './links.ts';
import { currentKey, priorities } from './phases.ts';
import type { Effect } from './step.ts';

export interface CallerOptions {
  readonly attempts: Attempts;
  readonly links: Links;
  readonly log: Log;
}

/** Asks agent-servers; what they answer is remembered. */
export interface Caller {
  /** True when something else is known afterwards, so that the Task is to be looked at again. Never rejects. */
  carryOut(task: Task, effects: readonly Effect[]): Promise<boolean>;
  /** Ends an attempt where it was last told to go on. */
  end(key: string): Promise<void>;
}

export function createCaller({ attempts, links, log }: CallerOptions): Caller {
  async function ask(task: Task, { instance, known }: Effect & { readonly type: 'ask' }): Promise<boolean> {
    const key = currentKey(task);
    const place = attempts.place(instance);
    if (place === undefined) return false;
    try {
      learn(key, instance, await links.to(place).submit(requestOf(task, key, known)));
    } catch (error) {
      log.debug('an agent-server was not reached for a Task', { instance, key, error: messageOf(error) });
      attempts.failed(key, 'unreachable', `Its agent-server does not answer: ${messageOf(error)}.`);
    }
    return true;
  }
  function learn(key: string, instance: string, answer: TaskAnswer): void {
    const place = attempts.place(instance);
    if (answer.kind === 'taken' && place !== undefined) attempts.told(place, answer.task);
    else if (answer.kind === 'unknown') attempts.unknownAt(key, instance);
    else if (answer.kind !== 'taken') attempts.failed(key, answer.kind, answer.message);
  }
  async function end(key: string): Promise<void> {
    const { instance = '' } = attempts.line(key) ?? {};
    const place = attempts.place(instance);
    if (place === undefined) return;
    try {
      const answer = await links.to(place).cancel(key);
      if (answer.kind === 'taken') attempts.told(place, answer.task);
    } catch (error) {
      // It is told again when the stream begins anew.
      log.warn('an attempt of a Task was not cancelled', { instance, key, error: messageOf(error) });
    }
  }
  return {
    async carryOut(task, effects) {
      let learned = false;
      for (const effect of effects) {
        if (effect.type === 'ask') learned = (await ask(task, effect)) || learned;
        else for (const key of effect.keys) await end(key);
      }
      return learned;
    },
    end,
  };
}

function requestOf({ spec }: Task, key: string, known: boolean): TaskRequest {
  const { tool = '', input = {}, priority, timeoutSeconds } = spec;
  return {
    key,
    tool,
    input,
    priority: priorities[priority],
    ...(timeoutSeconds !== undefined && { timeoutMs: timeoutSeconds * 1000 }),
    ...(known && { known: true as const }),
  };
}
