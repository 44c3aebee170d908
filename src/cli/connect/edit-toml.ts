import { isDeepStrictEqual } from 'node:util';
import { parse, stringify } from 'smol-toml';
import { messageOf } from '#kit/errors.ts';
import { isObject } from '#kit/json.ts';
import { CannotEdit } from './cannot-edit.ts';
import type { Edit } from './edit-json.ts';
import { type Entry, mergeEntry } from './server.ts';

/**
 * The text of a TOML file with one more server, or another one in its place, as a table of its own. Everything else
 * stays as it is written, comments too; that nothing else changed is checked. Throws CannotEdit.
 */
export function editToml(text: string, { holder, name, entry }: Edit): string {
  const root = parseToml(text);
  const servers = root[holder];
  if (servers !== undefined && !isObject(servers)) throw new CannotEdit(`its "${holder}" is no table`);
  const merged = mergeEntry(servers?.[name], entry);
  if (isSame(servers?.[name], merged)) return text;
  const block = renderToml(holder, name, merged);
  const edited = servers?.[name] === undefined ? append(text, block) : replace(text, block, [holder, name]);
  const expected = { ...root, [holder]: { ...servers, [name]: merged } };
  if (isSame(parseOrNothing(edited), expected)) return edited;
  throw new CannotEdit(`its "${holder}" is written in a way that cannot be added to`);
}

/** `[holder.name]` with its members; a table among them is written in one line. */
export function renderToml(holder: string, name: string, entry: Entry): string {
  const lines = Object.entries(entry).map(([key, value]) =>
    isObject(value) ? `${key} = ${inline(value)}` : stringify({ [key]: value }).trimEnd(),
  );
  return `[${holder}.${name}]\n${lines.join('\n')}\n`;
}

function inline(table: Record<string, unknown>): string {
  const members = Object.entries(table).map(([key, value]) =>
    isObject(value) ? `${JSON.stringify(key)} = ${inline(value)}` : stringify({ [key]: value }).trimEnd(),
  );
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`;
}

function append(text: string, block: string): string {
  if (text.trim() === '') return block;
  return `${text}${text.endsWith('\n') ? '' : '\n'}\n${block}`;
}

/** The table's lines until the next table that is not below it. */
function replace(text: string, block: string, path: readonly string[]): string {
  const lines = text.split('\n');
  const own = new RegExp(`^\\s*\\[\\s*${path.map(keyPattern).join('\\s*\\.\\s*')}\\s*(\\]|\\.)`);
  const start = lines.findIndex((line) => own.test(line));
  if (start === -1) throw new CannotEdit(`its "${path.join('.')}" is not a table of its own`);
  const isOther = (line: string, index: number) => index > start && /^\s*\[/.test(line) && !own.test(line);
  const end = lines.findIndex(isOther);
  const last = end === -1 ? lines.length : end;
  // Comments directly above the next table belong to it.
  let until = last;
  while (end !== -1 && until > start + 1 && /^\s*(#|$)/.test(lines[until - 1] ?? '')) until--;
  return [...lines.slice(0, start), ...block.trimEnd().split('\n'), ...lines.slice(until)].join('\n');
}

function keyPattern(key: string): string {
  return `(?:${key}|"${key}"|'${key}')`;
}

function parseToml(text: string): Record<string, unknown> {
  try {
    return parse(text);
  } catch (error) {
    throw new CannotEdit(`it is not TOML: ${messageOf(error).split('\n')[0]}`);
  }
}

function parseOrNothing(text: string): unknown {
  try {
    return parse(text);
  } catch {
    return undefined;
  }
}

/** The parser's tables have no prototype, and its dates are a class of its own. */
function isSame(left: unknown, right: unknown): boolean {
  const plain = (value: unknown) => JSON.parse(JSON.stringify(value ?? null)) as unknown;
  return isDeepStrictEqual(plain(left), plain(right));
}
