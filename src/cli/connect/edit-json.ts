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
  const eol = source.includes('\r\n') ? '\r\n' : '\n';
  const formattingOptions = { ...indentOf(source), eol };
  const edited = applyEdits(source, modify(source, [holder, name], merged, { formattingOptions }));
  const expected = { ...root, [holder]: { ...servers, [name]: merged } };
  if (!isDeepStrictEqual(parseJson(edited), expected)) throw new CannotEdit('it has the same member twice');
  return edited;
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

function indentOf(text: string): { insertSpaces: boolean; tabSize: number } {
  const indent = /^([\t ]+)\S/m.exec(text)?.[1] ?? '  ';
  return { insertSpaces: !indent.startsWith('\t'), tabSize: indent.startsWith('\t') ? 4 : indent.length };
}
