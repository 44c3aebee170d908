import { isObject } from '#kit/json.ts';
import { isAgentSurface } from '#routing/agent-surface.ts';
import type { McpSurface } from '#routing/surface.ts';
import { InvocationRejected } from '#wire/errors.ts';
import type { Caller } from '../../caller.ts';
import { checkTool } from '../../narrowing.ts';

/**
 * Throws InvocationRejected unless a caller that an agent has narrowed to some tools calls one of them, directly and by
 * the name that its agent gives it: only there it is known which tool that is.
 */
export function checkNarrowed(caller: Caller, surface: McpSurface, json: unknown): void {
  if (caller.tools === undefined) return;
  const isCall = isObject(json) && 'jsonrpc' in json && json['method'] === 'tools/call';
  if (!isCall || !isAgentSurface(surface)) throw new InvocationRejected('jwtVerify: tool not delegated');
  const { params } = json;
  checkTool(caller, isObject(params) ? String(params['name']) : '');
}
