import type { IncomingHttpHeaders } from 'node:http';
import { isObject } from '#kit/json.ts';
import { paramHeadersOf } from '#mcp/headers.ts';
import type { View } from '../catalog/view.ts';
import { nearestNames } from './nearest-names.ts';
import { findToolName } from './router-tools.ts';

/** The call that call_tool's arguments ask for. */
export interface InnerCall {
  readonly name: string;
  /** Undefined when the client gave none. */
  readonly arguments: Record<string, unknown> | undefined;
}

/** A sentence for the model when they ask for none. */
export function readInnerCall(args: unknown): InnerCall | string {
  const { name, arguments: inner } = isObject(args) ? args : {};
  if (typeof name !== 'string' || name === '') return '"name" must be the name of a tool.';
  if (inner === undefined || isObject(inner)) return { name, arguments: inner };
  return `"arguments" must be an object with the arguments of "${name.slice(0, 128)}", not ${kindOf(inner)}.`;
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'an array' : `a ${typeof value}`;
}

/** What a model is told that asked for a name that nobody has, or that several have. */
export function unknownTool(view: View, name: string): string {
  const sameName = view.items.filter((item) => item.name === name).map((item) => item.exposed);
  const exposed = view.items.map((item) => item.exposed);
  const near = [...new Set([...sameName, ...nearestNames(name, exposed, 3)])].slice(0, 5);
  const hint = near.length === 0 ? '' : ` Nearest names: ${near.join(', ')}.`;
  const silent = view.errors.map((error) => error.agent).join(', ');
  const missing = silent === '' ? '' : ` Agents that do not answer now: ${silent}.`;
  return `No tool has the name "${name.slice(0, 128)}".${hint}${missing} Use ${findToolName} to search.`;
}

/**
 * Headers of the inner call: those of the outer one, with the `Mcp-Param-*` that the inner tool's schema asks
 * for instead of what the client may have sent. Mcp-Name follows where the message changes.
 */
export function innerHeaders(
  headers: IncomingHttpHeaders,
  inputSchema: unknown,
  args: unknown,
): IncomingHttpHeaders {
  const others = Object.entries(headers).filter(([name]) => !name.startsWith('mcp-param-'));
  return { ...Object.fromEntries(others), ...paramHeadersOf(inputSchema, args) };
}
