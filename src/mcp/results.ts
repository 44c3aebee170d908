import { isObject } from '#kit/json.ts';
import { type Era, metaKeys } from './eras.ts';
import type { Implementation, Tool } from './types.ts';

export type Result = Record<string, unknown>;

export interface CacheHint {
  /** How long a client may use the answer without asking again. 0: not at all. */
  readonly ttlMs: number;
  /** `private`: only for the same authorization context. */
  readonly cacheScope: 'public' | 'private';
}

/** Methods whose complete results must carry `ttlMs` and `cacheScope` from 2026-07-28 on. */
const cacheableMethods: ReadonlySet<string> = new Set([
  'server/discover',
  'tools/list',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'prompts/list',
]);

const noCache: CacheHint = { ttlMs: 0, cacheScope: 'private' };

/**
 * Gives a result the form of an era. 2026-07-28: `resultType` (default `complete`), `_meta` with the
 * server's info, cache hints where the method must have them. Before: those members are taken away, and
 * tools lose an `outputSchema` that is not of type object, for which old clients refuse the whole list, and
 * structured content that is not an object becomes text.
 * The result itself is not changed.
 */
export function wrapResult(
  era: Era,
  method: string,
  result: Result,
  server: Implementation,
  hint: CacheHint = noCache,
): Result {
  return era === 'stateless' ? statelessResult(method, result, server, hint) : sessionsResult(method, result);
}

function statelessResult(method: string, result: Result, server: Implementation, hint: CacheHint): Result {
  const meta = isObject(result['_meta']) ? result['_meta'] : {};
  const wrapped: Result = {
    resultType: 'complete',
    ...result,
    _meta: { [metaKeys.serverInfo]: server, ...meta },
  };
  if (wrapped['resultType'] !== 'complete' || !cacheableMethods.has(method)) return wrapped;
  return { ttlMs: hint.ttlMs, cacheScope: hint.cacheScope, ...wrapped };
}

function sessionsResult(method: string, result: Result): Result {
  const { resultType: _type, ttlMs: _ttl, cacheScope: _scope, ...rest } = result;
  if (method === 'tools/call') return withObjectContent(rest);
  if (method !== 'tools/list' || !Array.isArray(rest['tools'])) return rest;
  return { ...rest, tools: (rest['tools'] as Tool[]).map(withoutForeignOutput) };
}

/** Before 2026-07-28 structured content is an object; other content then says the same as text. */
function withObjectContent(result: Result): Result {
  const content = result['structuredContent'];
  if (content === undefined || isObject(content)) return result;
  const { structuredContent, ...rest } = result;
  const others = rest['content'];
  if (Array.isArray(others) && others.length > 0) return rest;
  return { ...rest, content: [{ type: 'text', text: JSON.stringify(structuredContent) }] };
}

function withoutForeignOutput(tool: Tool): Tool {
  if (tool.outputSchema === undefined) return tool;
  if (isObject(tool.outputSchema) && tool.outputSchema['type'] === 'object') return tool;
  const { outputSchema: _dropped, ...rest } = tool;
  return rest as Tool;
}
