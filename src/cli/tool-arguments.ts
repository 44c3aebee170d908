import { isObject } from '#kit/json.ts';
import { CliError } from './errors.ts';
import { exitCodes } from './exit-codes.ts';

/**
 * Arguments from `key=value` pairs. Dots in a key build objects (`user.name=Ana`), a key that ends in `[]`
 * collects a list (`tags[]=a tags[]=b`). A value becomes true, false, null or a number when it is one, unless
 * the tool's schema says that the argument is a string; an object or list can be given as JSON.
 */
export function buildArguments(
  pairs: readonly string[],
  inputSchema: Record<string, unknown>,
): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const pair of pairs) {
    const at = pair.indexOf('=');
    if (at < 1) throw new CliError(exitCodes.usage, `-p ${pair} is not of the form key=value`);
    const path = pair.slice(0, at).split('.');
    assign(result, path, coerce(pair.slice(at + 1), typeAt(inputSchema, path)), pair);
  }
  return result;
}

function assign(
  target: Record<string, unknown>,
  path: readonly string[],
  value: unknown,
  pair: string,
): void {
  const [head = '', ...rest] = path;
  if (head === '' || head === '__proto__') throw new CliError(exitCodes.usage, `-p ${pair}: wrong key`);
  if (rest.length > 0) {
    const inner = isObject(target[head]) ? target[head] : {};
    target[head] = inner;
    assign(inner, rest, value, pair);
  } else if (head.endsWith('[]')) {
    const name = head.slice(0, -2);
    const list = Array.isArray(target[name]) ? target[name] : [];
    target[name] = [...list, value];
  } else target[head] = value;
}

/** The declared type of an argument, as far as `properties` and `items` tell. */
function typeAt(schema: Record<string, unknown>, path: readonly string[]): unknown {
  let node: unknown = schema;
  for (const part of path) {
    const name = part.endsWith('[]') ? part.slice(0, -2) : part;
    const properties: unknown = isObject(node) ? node['properties'] : undefined;
    node = isObject(properties) ? properties[name] : undefined;
    if (part.endsWith('[]')) node = isObject(node) ? node['items'] : undefined;
  }
  return isObject(node) ? node['type'] : undefined;
}

function coerce(text: string, type: unknown): unknown {
  if (type === 'string') return text;
  if (text === 'true') return true;
  if (text === 'false') return false;
  if (text === 'null') return null;
  if (text !== '' && String(Number(text)) === text) return Number(text);
  if (type === 'object' || type === 'array') return parseJson(text);
  return text;
}

/** JSON from the command line. Throws `usage` with the parser's words. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new CliError(exitCodes.usage, `this is not JSON: ${why}`);
  }
}

/**
 * Servers list wrong arguments as JSON after a sentence (`Invalid arguments for tool x: [{"path":["n"],…}]`);
 * people read a line each. Any other message comes back as it is.
 */
export function describeIssues(message: string): string {
  const [, sentence = '', list = ''] = /^([^[]*): (\[.*\])$/s.exec(message) ?? [];
  const issues = list === '' ? [] : tryParse(list);
  const lines = issues.map(({ path, message: text }) => `${path.join('.') || 'arguments'}: ${text}`);
  return lines.length === 0 ? message : [`${sentence}:`, ...lines].join('\n  ');
}

interface Issue {
  readonly path: readonly unknown[];
  readonly message: string;
}

/** Empty unless every element is an issue. */
function tryParse(list: string): Issue[] {
  try {
    const values: unknown = JSON.parse(list);
    return Array.isArray(values) && values.every(isIssue) ? values : [];
  } catch {
    return [];
  }
}

function isIssue(value: unknown): value is Issue {
  return isObject(value) && Array.isArray(value['path']) && typeof value['message'] === 'string';
}
