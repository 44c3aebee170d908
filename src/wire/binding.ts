import { hash } from 'node:crypto';
import { canonicalJson } from '#kit/json.ts';

/**
 * What a token is good for: one tool (or pseudo tool) with exactly these arguments.
 * src/mcp says what a JSON-RPC message is bound to; here are the calls that are no JSON-RPC.
 */
export interface CallBinding {
  readonly tool: string;
  readonly arguments: unknown;
}

/** `bh`: base64url(SHA-256(canonical JSON of `{tool, arguments}`)). */
export function bodyHash(call: CallBinding): string {
  return hash('sha256', canonicalJson({ tool: call.tool, arguments: call.arguments }), 'base64url');
}

/** GET /changes. */
export const changesBinding: CallBinding = { tool: '__changes__', arguments: {} };

/** GET /getTaskStatus?taskId=. */
export function bindTaskStatus(taskId: string): CallBinding {
  return { tool: '__task_status__', arguments: { taskId } };
}

/** ANY /api/*: `path` with its leading slash as sent, `search` with its question mark or empty. */
export function bindHttpService(method: string, path: string, search: string): CallBinding {
  return { tool: '__http_service__', arguments: { method, path, search } };
}

/** GET|HEAD /static/*: `path` as sent, from `/static/` on. */
export function bindStatic(path: string): CallBinding {
  return { tool: '__static__', arguments: { path } };
}
