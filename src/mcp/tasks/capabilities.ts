import { isObject } from '#kit/json.ts';
import { tasksExtension } from '../eras.ts';
import { errorCodes, RpcError } from '../jsonrpc.ts';

/** The first revision with tasks, which 2026-07-28 moved to an extension. */
export const firstTasksRevision = '2025-11-25';

const sessionTaskMethods: ReadonlySet<string> = new Set([
  'tasks/get',
  'tasks/result',
  'tasks/list',
  'tasks/cancel',
]);

/** Whether this is a method of tasks in 2025-11-25. */
export function isSessionTaskMethod(method: string): boolean {
  return sessionTaskMethods.has(method);
}

/** Whether a client of 2026-07-28 takes tasks in the place of results. */
export function declaresTasks({ extensions }: Readonly<Record<string, unknown>>): boolean {
  return isObject(extensions) && isObject(extensions[tasksExtension]);
}

/** What a server says that needs the client to take tasks. */
export function missingTasks(): RpcError {
  return new RpcError(errorCodes.missingCapability, 'Missing required client capability', {
    requiredCapabilities: { extensions: { [tasksExtension]: {} } },
  });
}

/** What a server of 2025-11-25 can do about calls of tools as tasks; undefined when it runs none. */
export interface SessionTasks {
  readonly [capability: string]: unknown;
  readonly list?: object;
  readonly cancel?: object;
  readonly requests: { readonly tools: { readonly call: object } };
}

/** The part of its `tasks` that is about calls of tools. */
export function sessionTasksIn({ tasks }: Readonly<Record<string, unknown>>): SessionTasks | undefined {
  const requests = isObject(tasks) ? tasks['requests'] : undefined;
  const tools = isObject(requests) ? requests['tools'] : undefined;
  if (!isObject(tasks) || !isObject(tools) || !isObject(tools['call'])) return undefined;
  return {
    ...(isObject(tasks['list']) && { list: {} }),
    ...(isObject(tasks['cancel']) && { cancel: {} }),
    requests: { tools: { call: {} } },
  };
}

/** `execution.taskSupport` of a tool of 2025-11-25. */
export function taskSupportOf(tool: unknown): 'required' | 'optional' | 'forbidden' {
  const execution = isObject(tool) ? tool['execution'] : undefined;
  const support = isObject(execution) ? execution['taskSupport'] : undefined;
  return support === 'required' || support === 'optional' ? support : 'forbidden';
}
