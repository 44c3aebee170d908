import type { Task } from '#api/task.ts';
import { messageOf } from '#kit/errors.ts';
import type { Log } from '#kit/log.ts';
import type { TaskAnswer, TaskRequest } from '#wire/tasks.ts';
import type { Attempts } from './attempts.ts';
import type { Links } from './links.ts';
import type { TaskPlace } from './listener.ts';
import { currentKey, isClaimed, priorities } from './phases.ts';
import type { Effect } from './step.ts';

export interface CallerOptions {
  readonly attempts: Attempts;
  readonly links: Links;
  readonly log: Log;
}

/** Asks agent-servers; what they answer is remembered. */
export interface Caller {
  /**
   * Milliseconds after which the Task is to be looked at again: 0 when something else is known, more when an attempt
   * that is to end was not reached; undefined: need not. Never rejects.
   */
  carryOut(task: Task, effects: readonly Effect[]): Promise<number | undefined>;
  /**
   * Ends an attempt where it was told to go on. False: somewhere nobody has heard of that yet. Where nobody is listened
   * to any more there is nobody to hear: who comes there tells of it anew. Never rejects.
   */
  end(key: string): Promise<boolean>;
}

/** Milliseconds until an attempt that goes on beside the present one is told again to end. */
const endAgainMs = 5_000;

export function createCaller({ attempts, links, log }: CallerOptions): Caller {
  async function ask(
    task: Task,
    { instance, known }: Effect & { readonly type: 'ask' },
  ): Promise<number | undefined> {
    const key = currentKey(task);
    const place = attempts.place(instance);
    if (place === undefined) return undefined;
    try {
      learn(key, instance, await links.to(place).submit(requestOf(task, key, known)));
    } catch (error) {
      log.debug('an agent-server was not reached for a Task', { instance, key, error: messageOf(error) });
      attempts.failed(key, 'unreachable', `Its agent-server does not answer: ${messageOf(error)}.`);
    }
    return 0;
  }
  function learn(key: string, instance: string, answer: TaskAnswer): void {
    const place = attempts.place(instance);
    if (answer.kind === 'taken' && place !== undefined) attempts.told(place, answer.task);
    else if (answer.kind === 'unknown') attempts.unknownAt(key, instance);
    else if (answer.kind !== 'taken') attempts.failed(key, answer.kind, answer.message);
  }
  async function endAt(place: TaskPlace, key: string): Promise<boolean> {
    const { instance } = place;
    const failed = (kind: 'busy' | 'unreachable', message: string) => {
      log.warn('an attempt of a Task was not cancelled', { instance, key, error: message });
      if (attempts.line(key)?.instance === instance) attempts.failed(key, kind, message);
      return false;
    };
    try {
      const answer = await links.to(place).cancel(key);
      if (answer.kind === 'taken') attempts.told(place, answer.task);
      else if (answer.kind === 'unknown') attempts.unknownAt(key, instance);
      else return failed('busy', answer.message);
      return true;
    } catch (error) {
      return failed('unreachable', `Its agent-server does not answer: ${messageOf(error)}.`);
    }
  }
  async function end(key: string): Promise<boolean> {
    const ends = await Promise.all(attempts.holders(key).map((place) => endAt(place, key)));
    return ends.every((heard) => heard);
  }
  async function endAll(task: Task, keys: readonly string[]): Promise<number | undefined> {
    let waitMs: number | undefined;
    for (const key of keys) {
      if (await end(key)) continue;
      // What failed for the present attempt, where that is, says itself when it is tried again.
      const isPresent = isClaimed(task) && key === currentKey(task);
      if (isPresent && attempts.trouble(key) !== undefined) return 0;
      waitMs = endAgainMs;
    }
    return waitMs;
  }
  return {
    async carryOut(task, effects) {
      const waits: number[] = [];
      for (const effect of effects) {
        const waitMs = effect.type === 'ask' ? await ask(task, effect) : await endAll(task, effect.keys);
        if (waitMs !== undefined) waits.push(waitMs);
      }
      return waits.length === 0 ? undefined : Math.min(...waits);
    },
    end,
  };
}

function requestOf({ spec }: Task, key: string, known: boolean): TaskRequest {
  const { tool = '', input = {}, priority, timeoutSeconds, execution } = spec;
  if (execution !== undefined)
    return { key, tool, input: {}, priority: priorities[priority], known: true, adopt: execution.id };
  return {
    key,
    tool,
    input,
    priority: priorities[priority],
    ...(timeoutSeconds !== undefined && { timeoutMs: timeoutSeconds * 1000 }),
    ...(known && { known: true as const }),
  };
}
