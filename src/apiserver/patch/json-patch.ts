import { isObject } from '#kit/json.ts';
import { ApiError, badRequest } from '../api-error.ts';
import { cloneJson, equalJson, getOwn, setOwn } from '../object.ts';

const maxOperations = 10_000;

type Holder = Record<string, unknown> | unknown[];

interface Place {
  readonly parent: Holder;
  readonly key: string;
}

/**
 * JSON patch (RFC 6902) on a copy of `target`, as lenient as the API server's (evanphx/json-patch): replacing or copying a
 * member that is not there is allowed, indexes count from the end when negative.
 * Throws 400 for a malformed patch, 422 when it does not apply.
 */
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
  if (!isObject(operation)) throw badRequest('each operation of a JSON patch is an object');
  const { op, value = null } = operation;
  const path = pathIn(operation, 'path');
  if (path === '' && op === 'replace') document.root = replacedRoot(value);
  else if (path === '' && op === 'test') test(document.root, value, path);
  else if (op === 'add') add(place(document, path), path, cloneJson(value));
  else if (op === 'remove') remove(place(document, path), path);
  else if (op === 'replace') replace(place(document, path), path, cloneJson(value));
  else if (op === 'test') test(read(place(document, path), path), value, path);
  else if (op === 'copy') copy(document, pathIn(operation, 'from'), path);
  else if (op === 'move') move(document, pathIn(operation, 'from'), path);
  else throw unprocessable(`unknown operation ${JSON.stringify(op)}`);
}

function pathIn(operation: Record<string, unknown>, member: string): string {
  const path = operation[member];
  if (typeof path !== 'string') throw unprocessable(`an operation has no ${member}`);
  return path;
}

function replacedRoot(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) throw unprocessable('a document is an object or a list');
  return cloneJson(value);
}

function place(document: { root: unknown }, path: string): Place {
  const [, ...tokens] = path.split('/').map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));
  const key = tokens.pop();
  let parent = document.root;
  for (const token of tokens) parent = read({ parent: holder(parent, path), key: token }, path);
  if (key === undefined) throw missing(path);
  return { parent: holder(parent, path), key };
}

function holder(value: unknown, path: string): Holder {
  if (isObject(value) || Array.isArray(value)) return value;
  throw missing(path);
}

/** What is at a place: null where an object has no such member. */
function read({ parent, key }: Place, path: string): unknown {
  if (Array.isArray(parent)) return parent[indexIn(key, parent.length, path)];
  return getOwn(parent, key) ?? null;
}

/** An index below `end`; a negative one counts from there. */
function indexIn(token: string, end: number, path: string): number {
  const number = /^[-+]?\d+$/.test(token) ? Number(token) : Number.NaN;
  const index = number < 0 ? number + end : number;
  if (!(index >= 0 && index < end)) throw missing(path);
  return index;
}

function add({ parent, key }: Place, path: string, value: unknown): void {
  if (!Array.isArray(parent)) setOwn(parent, key, value);
  else if (key === '-') parent.push(value);
  else parent.splice(indexIn(key, parent.length + 1, path), 0, value);
}

function remove({ parent, key }: Place, path: string): void {
  if (Array.isArray(parent)) parent.splice(indexIn(key, parent.length, path), 1);
  else if (Object.hasOwn(parent, key)) delete parent[key];
  else throw missing(path);
}

function replace({ parent, key }: Place, path: string, value: unknown): void {
  if (Array.isArray(parent)) parent[indexIn(key, parent.length, path)] = value;
  else setOwn(parent, key, value);
}

function copy(document: { root: unknown }, from: string, path: string): void {
  const value = read(place(document, from), from);
  add(place(document, path), path, cloneJson(value));
}

function move(document: { root: unknown }, from: string, path: string): void {
  const source = place(document, from);
  const value = read(source, from);
  remove(source, from);
  add(place(document, path), path, value);
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
