import { isDeepStrictEqual } from 'node:util';
import { applyEdits, modify, type ParseError, parse, printParseErrorCode } from 'jsonc-parser';
import { isObject } from '#kit/json.ts';
import { CannotEdit } from './cannot-edit.ts';
import { type Entry, mergeEntry } from './server.ts';

export interface Edit {
  /** The member that holds the servers, and the server's name. */
  readonly holder: string;
  readonly name: string;
  readonly entry: Entry;
}

/**
 * The text of a file of settings with one more server, or another one in its place. Everything else stays as it is
 * written, comments too. Throws CannotEdit for what is no JSON object.
 */
export function editJson(text: string, { holder, name, entry }: Edit): string {
  const source = text.trim() === '' ? '{}\n' : text;
  const root = parseJson(source);
  const servers = root[holder];
  if (servers !== undefined && !isObject(servers)) throw new CannotEdit(`its "${holder}" is no object`);
  const merged = mergeEntry(servers?.[name], entry);
  if (isDeepStrictEqual(servers?.[name], merged)) return text;
  const path = servers === undefined ? [holder] : [holder, name];
  const edited = change(source, path, servers === undefined ? { [name]: merged } : merged);
  const expected = { ...root, [holder]: { ...servers, [name]: merged } };
  if (!isDeepStrictEqual(parseJson(edited), expected)) throw new CannotEdit('it has the same member twice');
  return edited;
}

/** A new member comes on lines of its own, so that those of its neighbours stay as they are written. */
function change(source: string, path: readonly string[], value: Entry): string {
  const eol = source.includes('\r\n') ? '\r\n' : '\n';
  const indent = indentOf(source);
  const [added] = modify(source, [...path], value, {});
  if (added?.content.startsWith(',') && source.trim().includes('\n')) {
    const lines = `${JSON.stringify(path.at(-1))}: ${JSON.stringify(value, null, indent)}`.split('\n');
    const content = ['', ...lines].join(`${eol}${indent.repeat(path.length)}`);
    return applyEdits(source, [{ ...added, content: `,${content}` }]);
  }
  const formattingOptions = { insertSpaces: !indent.startsWith('\t'), tabSize: indent.length, eol };
  return applyEdits(source, modify(source, [...path], value, { formattingOptions }));
}

/** Comments and a comma at the end are taken, as the clients themselves do. */
function parseJson(text: string): Record<string, unknown> {
  const errors: ParseError[] = [];
  const value: unknown = parse(text, errors, { allowTrailingComma: true });
  const [error] = errors;
  if (error !== undefined) {
    const before = text.slice(0, error.offset).split('\n');
    const where = `line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`;
    throw new CannotEdit(`it is not JSON: ${printParseErrorCode(error.error)} at ${where}`);
  }
  if (!isObject(value)) throw new CannotEdit('it is no JSON object');
  return value;
}

function indentOf(text: string): string {
  return /^(\t| +)\S/m.exec(text)?.[1] ?? '  ';
}
