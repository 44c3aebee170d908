import { isObject } from '#kit/json.ts';
import { ApiError, badRequest } from '../api-error.ts';
import { cloneJson, equalJson, setOwn } from '../object.ts';

const maxOperations = 10_000;

interface Place {
  readonly parent: Record<string, unknown> | unknown[];
  readonly key: string;
}

/** JSON patch (RFC 6902) on a copy of `target`. Throws 400 for a malformed patch, 422 when it does not apply. */
export function jsonPatch(target: unknown, operations: unknown): unknown {
  if (!Array.isArray(operations)) throw badRequest('a JSON patch is a list of operations');
  if (operations.length > maxOperations)
    throw new ApiError(
      'RequestEntityTooLarge',
      `The allowed maximum operations in a JSON patch is ${maxOperations}, got ${operations.length}`,
    );
  const document = { root: cloneJson(target) };
  for (const operation of operations) apply(document, operation);
  return document.root;
}

function apply(document: { root: unknown }, operation: unknown): void {
  if (!isObject(operation) || typeof operation['path'] !== 'string')
    throw badRequest('each operation of a JSON patch needs "op" and "path"');
  const { op, path, from, value } = operation;
  if (op === 'add') add(place(document, path), cloneJson(value));
  else if (op === 'remove') remove(place(document, path), path);
  else if (op === 'replace') replace(place(document, path), path, cloneJson(value));
  else if (op === 'test') test(read(document, path), value, path);
  else if (op === 'copy') add(place(document, path), cloneJson(read(document, String(from))));
  else if (op === 'move') {
    const moved = read(document, String(from));
    remove(place(document, String(from)), String(from));
    add(place(document, path), moved);
  } else throw badRequest(`unknown JSON patch operation ${JSON.stringify(op)}`);
}

function tokens(path: string): string[] {
  if (path === '') return ['root'];
  if (!path.startsWith('/')) throw badRequest(`a JSON pointer begins with "/": ${JSON.stringify(path)}`);
  return [
    'root',
    ...path
      .slice(1)
      .split('/')
      .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~')),
  ];
}

function place(document: { root: unknown }, path: string): Place {
  const list = tokens(path);
  let parent: unknown = document;
  for (const token of list.slice(0, -1)) parent = step(parent, token, path);
  if (!isObject(parent) && !Array.isArray(parent)) throw missing(path);
  return { parent, key: list.at(-1) ?? '' };
}

function read(document: { root: unknown }, path: string): unknown {
  let value: unknown = document;
  for (const token of tokens(path)) value = step(value, token, path);
  return value;
}

function step(value: unknown, token: string, path: string): unknown {
  if (Array.isArray(value)) return value[indexIn(value, token, value.length - 1, path)];
  if (isObject(value) && Object.hasOwn(value, token)) return value[token];
  throw missing(path);
}

function indexIn(list: readonly unknown[], token: string, most: number, path: string): number {
  const index = token === '-' ? list.length : /^(0|[1-9]\d*)$/.test(token) ? Number(token) : -1;
  if (index < 0 || index > most) throw missing(path);
  return index;
}

function add({ parent, key }: Place, value: unknown): void {
  if (Array.isArray(parent)) parent.splice(indexIn(parent, key, parent.length, key), 0, value);
  else setOwn(parent, key, value);
}

function remove({ parent, key }: Place, path: string): void {
  if (Array.isArray(parent)) parent.splice(indexIn(parent, key, parent.length - 1, path), 1);
  else if (Object.hasOwn(parent, key)) delete parent[key];
  else throw missing(path);
}

function replace({ parent, key }: Place, path: string, value: unknown): void {
  if (Array.isArray(parent)) parent[indexIn(parent, key, parent.length - 1, path)] = value;
  else if (Object.hasOwn(parent, key)) setOwn(parent, key, value);
  else throw missing(path);
}

function test(actual: unknown, expected: unknown, path: string): void {
  if (!equalJson(actual, expected)) throw unprocessable(`testing value ${path} failed`);
}

function missing(path: string): ApiError {
  return unprocessable(`doc is missing path: ${path}`);
}

/** The API server does not say which operation failed; the reason is kept as the cause for the log. */
function unprocessable(cause: string): ApiError {
  const error = new ApiError('Invalid', 'the server rejected our request due to an error in our request', {});
  error.cause = cause;
  return error;
}
