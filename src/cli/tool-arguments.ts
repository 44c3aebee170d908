import { isObject } from '#kit/json.ts';
import { convert } from './arguments/convert.ts';
import { describeSchema, propertiesOf, resolve, type Schema, takesOthers } from './arguments/schema.ts';
import { suggest } from './arguments/suggest.ts';
import { CliError } from './errors.ts';
import { exitCodes } from './exit-codes.ts';

/**
 * Arguments from `key=value` pairs, added to those that are given already. Dots in a key build objects
 * (`user.name=Ana`); a list is given whole as JSON, or item by item (`tags=a tags=b`, or `tags[]=a`). Values become
 * what the tool's schema wants. Throws `usage`, naming the parameter and what it takes.
 */
export function buildArguments(
  pairs: readonly string[],
  inputSchema: Schema,
  given: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> {
  const result: Record<string, unknown> = structuredClone(given);
  const begun = new Set<string>();
  for (const pair of pairs) {
    const at = pair.indexOf('=');
    if (at < 1) throw new CliError(exitCodes.usage, `-p ${pair} is not of the form key=value`);
    const path = pair.slice(0, at).split('.');
    if (path.some((part) => part === '' || part === '[]' || part === '__proto__')) {
      throw new CliError(exitCodes.usage, `-p ${pair}: wrong key`);
    }
    assign(result, path, readValue(path, pair.slice(at + 1), inputSchema), begun);
  }
  return result;
}

/** A parameter's value, and whether more of them make a list. */
interface Value {
  readonly value: unknown;
  readonly isPiece: boolean;
}

function readValue(path: readonly string[], text: string, root: Schema): Value {
  const schema = schemaAt(path, root);
  const isItem = path.at(-1)?.endsWith('[]') === true;
  const converted = convert(text, schema, root);
  if (converted === undefined) {
    const message = `parameter ${path.join('.')} takes ${describeSchema(schema, root)}, not ${JSON.stringify(text)}`;
    throw new CliError(exitCodes.usage, message);
  }
  const { value } = converted;
  const isPiece = !isItem && Array.isArray(value) && !text.trimStart().startsWith('[');
  return { value: isItem ? [value] : value, isPiece: isItem || isPiece };
}

/** What is declared of a parameter. Throws `usage` for one that the tool does not have. */
function schemaAt(path: readonly string[], root: Schema): Schema {
  let node = resolve(root, root);
  for (const [index, part] of path.entries()) {
    const name = part.replace(/\[\]$/, '');
    const known = propertiesOf(node);
    if (!Object.hasOwn(known, name)) {
      if (!takesOthers(node)) throw unknown(path.slice(0, index), name, Object.keys(known));
      return {};
    }
    node = resolve(known[name], root);
    if (part.endsWith('[]')) node = resolve(node['items'], root);
  }
  return node;
}

function unknown(above: readonly string[], name: string, known: readonly string[]): CliError {
  const where = above.length === 0 ? 'this tool' : above.join('.');
  const near = suggest(name, known);
  const hint = near.length > 0 ? `Did you mean ${near.join(' or ')}? ` : '';
  const all = known.length === 0 ? 'It takes none.' : `It takes ${known.join(', ')}.`;
  return new CliError(exitCodes.usage, `${where} has no parameter "${name}"`, `${hint}${all}`);
}

function assign(
  target: Record<string, unknown>,
  path: readonly string[],
  { value, isPiece }: Value,
  begun: Set<string>,
): void {
  const names = path.map((part) => part.replace(/\[\]$/, ''));
  const last = names.at(-1) ?? '';
  let node = target;
  for (const name of names.slice(0, -1)) {
    const inner = isObject(node[name]) ? node[name] : {};
    node[name] = inner;
    node = inner;
  }
  const key = names.join('.');
  const earlier = begun.has(key) ? node[last] : undefined;
  node[last] = isPiece && Array.isArray(earlier) ? [...earlier, ...(value as unknown[])] : value;
  begun.add(key);
}

/** Throws `usage` when a parameter is missing that the tool cannot do without. */
export function requireArguments(args: Readonly<Record<string, unknown>>, inputSchema: Schema): void {
  const { required } = inputSchema;
  const names = Array.isArray(required) ? required.filter((name) => typeof name === 'string') : [];
  const missing = names.filter((name) => !Object.hasOwn(args, name));
  if (missing.length === 0) return;
  const known = propertiesOf(inputSchema);
  const lines = missing.map((name) => {
    const schema = resolve(known[name], inputSchema);
    const about = typeof schema['description'] === 'string' ? `: ${firstLine(schema['description'])}` : '';
    return `-p ${name}=…   ${describeSchema(schema, inputSchema)}${about}`;
  });
  const [first = ''] = missing;
  const message =
    missing.length === 1 ? `parameter ${first} is missing` : `parameters ${missing.join(', ')} are missing`;
  throw new CliError(exitCodes.usage, message, lines.join('\n  '));
}

function firstLine(text: string): string {
  return text.split('\n')[0] ?? '';
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
