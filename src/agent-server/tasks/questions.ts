import type { TaskRecord } from '../queue/queue.ts';

/** What a task asks, as MCP requests, by key. */
export type Questions = Readonly<Record<string, unknown>>;

/**
 * A task may ask more than once, and its tool under the same key: clients take each key for one question during the
 * whole life of a task, so that the attempt that asks stands before it.
 */
export function questionsOf(asked: Questions, attempt: number): Questions {
  return Object.fromEntries(Object.entries(asked).map(([key, request]) => [`${attempt}-${key}`, request]));
}

/** The answers under the tool's own keys; undefined when nothing was asked. */
export function responsesFor({ inputResponses }: Pick<TaskRecord, 'inputResponses'>): Questions | undefined {
  if (inputResponses === null) return undefined;
  return Object.fromEntries(
    Object.entries(inputResponses).map(([key, response]) => [key.replace(/^\d+-/, ''), response]),
  );
}
