import { hash } from 'node:crypto';
import { canonicalJson, isObject } from '#kit/json.ts';

/**
 * What a token is good for: one tool (or pseudo tool) with exactly these arguments.
 */
export interface CallBinding {
  readonly tool: string;
  readonly arguments: unknown;
}

/** `bh`: base64url(SHA-256(canonical JSON of `{tool, arguments}`)). */
export function bodyHash(call: CallBinding): string {
  const named = `"tool":${JSON.stringify(call.tool)}}`;
  // As canonicalJson writes it, which leaves out what is undefined.
  const text =
    call.arguments === undefined ? `{${named}` : `{"arguments":${canonicalJson(call.arguments)},${named}`;
  return hash('sha256', text, 'base64url');
}

/**
 * The binding of a JSON-RPC message that is POSTed to /mcp; both ends compute it from the same message.
 * tools/call → the tool and its arguments; resources/read → its uri; any other method → its params;
 * a client's answer to a server's request → `__response__` with id and result or error.
 * `_meta` of a tool call or read is not bound.
 */
export function bindMessage(message: object): CallBinding {
  const members = message as Readonly<Record<string, unknown>>;
  const method = members['method'];
  if (typeof method !== 'string') {
    const { jsonrpc: _version, ...answer } = members;
    return { tool: '__response__', arguments: answer };
  }
  const params = isObject(members['params']) ? members['params'] : {};
  if (method === 'tools/call' && typeof params['name'] === 'string') {
    return { tool: params['name'], arguments: params['arguments'] ?? {} };
  }
  if (method === 'resources/read') return { tool: method, arguments: { uri: params['uri'] } };
  return { tool: method, arguments: params };
}

/** GET /mcp: the session's event stream. */
export const streamBinding: CallBinding = { tool: '__stream__', arguments: {} };

/** DELETE /mcp: the session ends. */
export const endSessionBinding: CallBinding = { tool: '__end_session__', arguments: {} };

/** GET /changes. */
export const changesBinding: CallBinding = { tool: '__changes__', arguments: {} };

/** POST /upstream-secrets. */
export function bindHandOver(secrets: unknown): CallBinding {
  return { tool: '__upstream_secrets__', arguments: secrets };
}

/** POST /tasks. */
export function bindTask(request: object): CallBinding {
  return { tool: '__task__', arguments: request };
}

/** POST /tasks/cancel. */
export function bindTaskEnd(key: string): CallBinding {
  return { tool: '__task_end__', arguments: { key } };
}

/** GET /getTaskStatus?taskId=. */
export function bindTaskStatus(taskId: string): CallBinding {
  return { tool: '__task_status__', arguments: { taskId } };
}

/** GET /queue. */
export const queueBinding: CallBinding = { tool: '__queue__', arguments: {} };

/** ANY /api/*: `path` with its leading slash as sent, `search` with its question mark or empty. */
export function bindHttpService(method: string, path: string, search: string): CallBinding {
  return { tool: '__http_service__', arguments: { method, path, search } };
}

/** GET|HEAD /static/*: `path` as sent, from `/static/` on. */
export function bindStatic(path: string): CallBinding {
  return { tool: '__static__', arguments: { path } };
}

/** ANY /blobs and /blobs/<id>: `path` as sent, `search` with its question mark or empty. The content is not bound. */
export function bindBlob(method: string, path: string, search: string): CallBinding {
  return { tool: '__blob__', arguments: { method, path, search } };
}
