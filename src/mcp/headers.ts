import { isObject } from '#kit/json.ts';
import { errorCodes, type JsonRpcRequest, RpcError } from './jsonrpc.ts';

/** The headers of 2026-07-28 (SEP-2243) that mirror the body, trimmed, undefined when absent. */
export interface StandardHeaders {
  readonly version: string | undefined;
  readonly method: string | undefined;
  readonly name: string | undefined;
}

/** Header values as node:http and undici hand them over. */
export type HeaderValues = Readonly<Record<string, string | string[] | undefined>>;

export function readStandardHeaders(headers: HeaderValues): StandardHeaders {
  return {
    version: headerOf(headers, 'mcp-protocol-version'),
    method: headerOf(headers, 'mcp-method'),
    name: headerOf(headers, 'mcp-name'),
  };
}

/** One header without the optional white space around it; a repeated one as node joins it. */
export function headerOf(headers: HeaderValues, name: string): string | undefined {
  const value = headers[name];
  if (value === undefined) return undefined;
  return (Array.isArray(value) ? value.join(', ') : value).trim();
}

/** Which member of `params` Mcp-Name mirrors, by method. */
const nameSources: ReadonlyMap<string, string> = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
  ['tasks/get', 'taskId'],
  ['tasks/update', 'taskId'],
  ['tasks/cancel', 'taskId'],
]);

/** The value that Mcp-Name must have for this request; undefined when the method has none. */
export function nameHeaderOf(message: Pick<JsonRpcRequest, 'method' | 'params'>): string | undefined {
  const source = nameSources.get(message.method);
  const value = source === undefined ? undefined : message.params?.[source];
  return typeof value === 'string' ? value : undefined;
}

/**
 * Compares MCP-Protocol-Version, Mcp-Method and Mcp-Name with a request's body.
 * Throws RpcError `headerMismatch` (HTTP 400) naming the header.
 */
export function checkStandardHeaders(
  message: JsonRpcRequest,
  revision: string,
  headers: StandardHeaders,
): void {
  requireEqual('MCP-Protocol-Version', headers.version, revision);
  requireEqual('Mcp-Method', headers.method, message.method);
  const name = nameHeaderOf(message);
  if (name === undefined) return;
  const decoded = headers.name === undefined ? undefined : decodeHeaderValue(headers.name);
  if (headers.name !== undefined && decoded === undefined) {
    throw mismatch('Mcp-Name', headers.name, 'its base64 form is invalid');
  }
  requireEqual('Mcp-Name', decoded, name);
}

/**
 * Compares the `Mcp-Param-*` headers with the arguments of a tool call, by the `x-mcp-header` of the
 * tool's input schema. Absent and null arguments need no header. Throws RpcError `headerMismatch`.
 */
export function checkParamHeaders(inputSchema: unknown, args: unknown, headers: HeaderValues): void {
  for (const { path, header, type } of declaredParamHeaders(inputSchema)) {
    const text = primitiveText(valueAt(args, path));
    if (text === undefined) continue;
    const name = `Mcp-Param-${header}`;
    const raw = headerOf(headers, name.toLowerCase());
    const decoded = raw === undefined ? undefined : decodeHeaderValue(raw);
    if (raw !== undefined && decoded === undefined) throw mismatch(name, raw, 'its base64 form is invalid');
    if (decoded !== undefined && isNumeric(type) && Number(decoded) === Number(text)) continue;
    requireEqual(name, decoded, text);
  }
}

/** The `Mcp-Param-*` headers that a client sends with a tool call, by the tool's input schema. */
export function paramHeadersOf(inputSchema: unknown, args: unknown): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const { path, header } of declaredParamHeaders(inputSchema)) {
    const text = primitiveText(valueAt(args, path));
    if (text !== undefined) headers[`mcp-param-${header.toLowerCase()}`] = encodeHeaderValue(text);
  }
  return headers;
}

/**
 * Whether every `x-mcp-header` of a tool's input schema can be carried out: a header name of its own, on a text, whole
 * number or truth value, reachable through `properties` alone.
 */
export function hasValidParamHeaders(inputSchema: unknown): boolean {
  const declared = declaredParamHeaders(inputSchema);
  if (declared.length !== countOf(inputSchema, 'x-mcp-header')) return false;
  const names = new Set(declared.map(({ header }) => header.toLowerCase()));
  return (
    names.size === declared.length &&
    declared.every(({ header, type }) => headerToken.test(header) && primitiveTypes.has(type))
  );
}

const headerToken = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/;
const primitiveTypes: ReadonlySet<unknown> = new Set(['string', 'integer', 'boolean']);

/** How often a member has this name, at any depth that a schema has in practice; names of `properties` do not count. */
function countOf(schema: unknown, name: string, depth = 0, areNames = false): number {
  if (typeof schema !== 'object' || schema === null || depth > 64) return 0;
  return Object.entries(schema).reduce((count, [key, child]) => {
    const own = !areNames && key === name ? 1 : 0;
    return count + own + countOf(child, name, depth + 1, !areNames && key === 'properties');
  }, 0);
}

/** `=?base64?…?=` decoded as UTF-8, anything else as it is; undefined when the base64 or UTF-8 is invalid. */
export function decodeHeaderValue(value: string): string | undefined {
  if (!value.startsWith('=?base64?') || !value.endsWith('?=')) return value;
  const base64 = value.slice('=?base64?'.length, -2);
  if (!/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(base64)) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(base64, 'base64'));
  } catch {
    return undefined;
  }
}

/** A value in the form that a header can carry: as it is when it is plain ASCII, else base64. */
export function encodeHeaderValue(value: string): string {
  const plain = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(value) && !value.startsWith('=?base64?');
  return plain ? value : `=?base64?${Buffer.from(value, 'utf8').toString('base64')}?=`;
}

interface ParamHeader {
  readonly path: readonly string[];
  readonly header: string;
  readonly type: unknown;
}

/** Declarations reachable through `properties` only; elsewhere they are invalid and ignored here. */
function declaredParamHeaders(schema: unknown, path: readonly string[] = []): ParamHeader[] {
  if (!isObject(schema) || !isObject(schema['properties']) || path.length > 16) return [];
  return Object.entries(schema['properties']).flatMap(([key, child]) => {
    if (!isObject(child)) return [];
    const here = [...path, key];
    const header = child['x-mcp-header'];
    const own =
      typeof header === 'string' && header !== '' ? [{ path: here, header, type: child['type'] }] : [];
    return [...own, ...declaredParamHeaders(child, here)];
  });
}

function valueAt(root: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((node, key) => (isObject(node) ? node[key] : undefined), root);
}

function primitiveText(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return String(value);
  if (typeof value === 'number' && Number.isFinite(value)) return String(value);
  return undefined;
}

function isNumeric(type: unknown): boolean {
  return type === 'integer' || type === 'number';
}

function requireEqual(header: string, actual: string | undefined, expected: string): void {
  if (actual === undefined)
    throw mismatch(header, '(missing)', `the request needs it to be ${quoted(expected)}`);
  if (actual !== expected) throw mismatch(header, actual, `the body says ${quoted(expected)}`);
}

function mismatch(header: string, value: string, reason: string): RpcError {
  const text = `Header mismatch: ${header} is ${quoted(value)}, but ${reason}`;
  return new RpcError(errorCodes.headerMismatch, text, { mismatch: { header, value: value.slice(0, 256) } });
}

function quoted(value: string): string {
  return JSON.stringify(value.slice(0, 256));
}
