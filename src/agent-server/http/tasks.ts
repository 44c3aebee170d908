import type { IncomingMessage, ServerResponse } from 'node:http';
import { codeOf, messageOf } from '#kit/errors.ts';
import { isObject } from '#kit/json.ts';
import { errorCodes, RpcError } from '#mcp/jsonrpc.ts';
import { bindTask, bindTaskEnd, type CallBinding } from '#wire/binding.ts';
import { type TaskRequest, unknownTask } from '#wire/tasks.ts';
import type { Guard } from '../mcp/guard.ts';
import type { TaskRecord } from '../queue/queue.ts';
import { StoreError } from '../queue/store/store-error.ts';
import type { TaskService } from '../tasks/service.ts';
import { allowOnly, type Handler, sendObject } from './app.ts';
import { readBody } from './body.ts';
import { taskLineOf } from './task-lines.ts';

export type TaskFace = Pick<TaskService, 'submit' | 'get' | 'getByKey' | 'adopt' | 'cancel'>;

/** Bytes of an order: 256 KiB of input, however it is escaped, and what is said beside it. */
const longestOrder = 2 * 1024 * 1024;

/** POST /tasks: the controller gives an attempt at a Task, or asks how far it is, which is the same. */
export function tasksHandler(tasks: TaskFace, guard: Guard): Handler {
  return async (request, response) => {
    const body = await readOrder(request, response, guard, (order) => bindTask(order));
    const order = body && parseOrder(body);
    if (order === undefined) {
      if (!response.headersSent) sendObject(response, 400, { message: 'the body is no order of a task' });
      return;
    }
    await answer(response, () => take(tasks, order));
  };
}

/** POST /tasks/cancel: the controller ends an attempt, whether it waits or runs. */
export function cancelTaskHandler(tasks: TaskFace, guard: Guard): Handler {
  return async (request, response) => {
    const body = await readOrder(request, response, guard, ({ key }) => bindTaskEnd(String(key)));
    const key = body?.['key'];
    if (typeof key !== 'string') {
      if (!response.headersSent) sendObject(response, 400, { message: 'key is missing' });
      return;
    }
    await answer(response, async () => {
      const record = await tasks.getByKey(key);
      if (record === undefined) return undefined;
      await tasks.cancel(record.id);
      return tasks.get(record.id);
    });
  };
}

/** The body of a request by the controller; undefined once it has been answered, or is no object. */
async function readOrder(
  request: IncomingMessage,
  response: ServerResponse,
  guard: Guard,
  bind: (body: Record<string, unknown>) => CallBinding,
): Promise<Record<string, unknown> | undefined> {
  if (!allowOnly(request, response, 'POST')) return undefined;
  const text = await readBody(request, longestOrder);
  if (text === 'too-large') {
    const message = `the body is larger than ${longestOrder} bytes: give the tool less input, or where to read it`;
    response.setHeader('connection', 'close');
    sendObject(response, 413, { message });
    return undefined;
  }
  const body = parse(text);
  if (body === undefined) return undefined;
  const { claims } = guard.admit(request, bind(body));
  if (guard.open || claims?.caller === 'controller:first-party') return body;
  sendObject(response, 403, { message: 'only the controller gives tasks here' });
  return undefined;
}

function parse(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function parseOrder(body: Record<string, unknown>): TaskRequest | undefined {
  const { key, tool, input, priority, timeoutMs, known, adopt } = body;
  if (typeof key !== 'string' || typeof tool !== 'string' || !isObject(input)) return undefined;
  const level = [0, 1, 2, 3].find((one) => one === priority) as TaskRequest['priority'] | undefined;
  return {
    key,
    tool,
    input,
    priority: level ?? 1,
    ...(typeof timeoutMs === 'number' && timeoutMs > 0 && { timeoutMs }),
    ...(known === true && { known: true as const }),
    ...(typeof adopt === 'string' && { adopt }),
  };
}

/** Attempts are the controller's to count: one that is lost with its process is not run again here. */
async function take(
  tasks: TaskFace,
  { known, adopt, ...order }: TaskRequest,
): Promise<TaskRecord | undefined> {
  if (adopt !== undefined) return (await tasks.getByKey(order.key)) ?? tasks.adopt(adopt, order.key);
  if (known === true) return tasks.getByKey(order.key);
  return tasks.submit({ ...order, owner: 'controller', retries: 0 });
}

async function answer(response: ServerResponse, act: () => Promise<TaskRecord | undefined>): Promise<void> {
  try {
    const record = await act();
    if (record === undefined) sendObject(response, 404, { error: unknownTask });
    else sendObject(response, 200, { task: taskLineOf(record) });
  } catch (error) {
    const status = statusOf(error);
    if (status === undefined) throw error;
    sendObject(response, status, { error: codeOf(error), message: messageOf(error) });
  }
}

/** 400: never; 429 and 503: another time. */
function statusOf(error: unknown): number | undefined {
  if (error instanceof RpcError) return error.code === errorCodes.invalidParams ? 400 : 503;
  if (error instanceof StoreError) return 503;
  return codeOf(error) === 'QueueFull' ? 429 : undefined;
}
