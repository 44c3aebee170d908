import { isObject } from '#kit/json.ts';

type Json = Record<string, unknown>;

/** What a task is called on the next hop. */
export type RenameTask = (id: string) => string;

const relatedTaskKey = 'io.modelcontextprotocol/related-task';

/** Every function here gives the same object back when nothing in it changes. */

/** The task that a result of tools/call says has begun, in the words of either era. */
export function begunTask(result: Json): Json | undefined {
  const task = result['resultType'] === 'task' ? result : result['task'];
  return isObject(task) && typeof task['taskId'] === 'string' ? task : undefined;
}

/**
 * A result of a request with tasks in it: one that is a task, holds one (2025: `task`) or lists them (`tasks`), or is
 * related to one by its `_meta`. For tools/call, only when begunTask says that it is about one.
 */
export function renameInResult(result: Json, rename: RenameTask): Json {
  const own = renameOwn(result, rename);
  const held = isObject(own['task']) ? replace(own, 'task', renameOwn(own['task'], rename)) : own;
  const { tasks } = held;
  const listed = Array.isArray(tasks)
    ? tasks.map((one) => (isObject(one) ? renameOwn(one, rename) : one))
    : tasks;
  const isSame =
    Array.isArray(tasks) && Array.isArray(listed) && listed.every((one, at) => one === tasks[at]);
  return renameRelated(isSame ? held : replace(held, 'tasks', listed), rename);
}

/** Params of a question or a notification: a task's own state, or what `_meta` says that they belong to. */
export function renameInParams(params: Json, rename: RenameTask): Json {
  return renameRelated(renameOwn(params, rename), rename);
}

/** A message of a server to a client; `method` is that of the request which it answers or belongs to, if it is known. */
export function renameInMessage(message: Json, method: string, rename: RenameTask): Json {
  const { result, params } = message;
  if (isObject(params)) return replace(message, 'params', renameInParams(params, rename));
  if (!isObject(result)) return message;
  const isAbout = method.startsWith('tasks/') || begunTask(result) !== undefined;
  return replace(message, 'result', (isAbout ? renameInResult : renameRelated)(result, rename));
}

/** The task that params or a result belong to by their `_meta` (2025). */
export function relatedTask(holder: Json): string | undefined {
  const meta = holder['_meta'];
  const related = isObject(meta) ? meta[relatedTaskKey] : undefined;
  const id = isObject(related) ? related['taskId'] : undefined;
  return typeof id === 'string' ? id : undefined;
}

/** A result without what 2025 says of its task in `_meta`. */
export function withoutRelatedTask(result: Json): Json {
  const meta = result['_meta'];
  if (!isObject(meta) || meta[relatedTaskKey] === undefined) return result;
  const { [relatedTaskKey]: _related, ...others } = meta;
  const { _meta, ...rest } = result;
  return Object.keys(others).length === 0 ? rest : { ...rest, _meta: others };
}

function renameOwn(task: Json, rename: RenameTask): Json {
  const id = task['taskId'];
  return typeof id === 'string' ? replace(task, 'taskId', rename(id)) : task;
}

/** What `_meta` says that something belongs to (2025). */
function renameRelated(holder: Json, rename: RenameTask): Json {
  const id = relatedTask(holder);
  if (id === undefined) return holder;
  const meta = holder['_meta'] as Json;
  const related = replace(meta[relatedTaskKey] as Json, 'taskId', rename(id));
  return replace(holder, '_meta', replace(meta, relatedTaskKey, related));
}

function replace(holder: Json, key: string, value: unknown): Json {
  return holder[key] === value ? holder : { ...holder, [key]: value };
}
