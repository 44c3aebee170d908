import { formsOf } from './redact-forms.ts';

/** What stands where a secret value stood. */
export const redacted = '[redacted]';
const mark = Buffer.from(redacted);

/** Takes known secret values out of what is shown or kept. */
export interface Redactor {
  /** How many texts it looks for; 0: it changes nothing. */
  readonly size: number;
  text(text: string): string;
  /** For one stream of bytes, whose chunks may cut a value anywhere. */
  stream(): RedactingStream;
}

export interface RedactingStream {
  /**
   * What is known to hold no value. An end that may be the beginning of one waits for the next chunk, so nothing
   * waits but a few bytes that happen to be equal.
   */
  push(chunk: Uint8Array): Uint8Array;
  /** The rest, when nothing follows. */
  flush(): Uint8Array;
}

const nothing = new Uint8Array(0);
const nobody: Redactor = {
  size: 0,
  text: (text) => text,
  stream: () => ({ push: (chunk) => chunk, flush: () => nothing }),
};

/** Looks for the secrets in the forms of `formsOf`; shorter ones than 8 bytes are not looked for. */
export function createRedactor(secrets: Iterable<string>): Redactor {
  const forms = [...new Set([...secrets].flatMap(formsOf))].map((form) => Buffer.from(form));
  if (forms.length === 0) return nobody;
  const search = createSearch(forms);
  return {
    size: forms.length,
    text(text) {
      const bytes = Buffer.from(text);
      const { out } = replaceAll(search, bytes, true);
      return out === bytes ? text : Buffer.from(out).toString('utf8');
    },
    stream() {
      let held: Uint8Array = nothing;
      const run = (chunk: Uint8Array, isLast: boolean) => {
        const bytes = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
        const { out, rest } = replaceAll(search, bytes, isLast);
        // A copy: the caller may use the chunk's memory again.
        held = rest.length === 0 ? nothing : Uint8Array.from(rest);
        return out;
      };
      return { push: (chunk) => run(chunk, false), flush: () => run(nothing, true) };
    },
  };
}

interface Search {
  /** The first place from `from` on where a text stands whole, beginning before `limit`. */
  find(bytes: Uint8Array, from: number, limit: number): { at: number; end: number } | undefined;
  /** Where from `from` on a text begins that the end of the bytes cuts; their length when none does. */
  cut(bytes: Uint8Array, from: number): number;
}

function replaceAll(
  search: Search,
  bytes: Uint8Array,
  isLast: boolean,
): { readonly out: Uint8Array; readonly rest: Uint8Array } {
  let limit = isLast ? bytes.length : search.cut(bytes, 0);
  const parts: Uint8Array[] = [];
  let from = 0;
  for (
    let found = search.find(bytes, 0, limit);
    found !== undefined;
    found = search.find(bytes, from, limit)
  ) {
    parts.push(bytes.subarray(from, found.at), mark);
    from = found.end;
    // What began inside the value that was just taken out is no beginning any more.
    if (!isLast && from > limit) limit = search.cut(bytes, from);
  }
  const rest = bytes.subarray(limit);
  if (parts.length === 0) return { out: limit === bytes.length ? bytes : bytes.subarray(0, limit), rest };
  parts.push(bytes.subarray(from, limit));
  return { out: Buffer.concat(parts), rest };
}

/** Wu and Manber's search for many texts: blocks of two bytes say how far the next possible place is at least. */
function createSearch(forms: readonly Buffer[]): Search {
  const window = Math.min(...forms.map(({ length }) => length));
  const longest = Math.max(...forms.map(({ length }) => length));
  const furthest = Math.min(window - 1, 255);
  const shifts = new Uint8Array(65_536).fill(furthest);
  const ending = new Map<number, Buffer[]>();
  const beginning = new Map<number, Buffer[]>();
  for (const form of forms) {
    for (let index = 1; index < window; index += 1) {
      const block = blockAt(form, index);
      shifts[block] = Math.min(shifts[block] ?? 0, window - 1 - index);
    }
    file(ending, blockAt(form, window - 1), form);
    file(beginning, form[0] ?? 0, form);
  }
  for (const list of ending.values()) list.sort((left, right) => right.length - left.length);

  function find(bytes: Uint8Array, from: number, limit: number) {
    const last = Math.min(bytes.length, limit + window - 1);
    for (let index = from + window - 1; index < last; ) {
      const block = ((bytes[index - 1] ?? 0) << 8) | (bytes[index] ?? 0);
      const shift = shifts[block] ?? 0;
      if (shift > 0) {
        index += shift;
        continue;
      }
      const at = index - window + 1;
      const form = ending.get(block)?.find((candidate) => standsAt(candidate, bytes, at, candidate.length));
      if (form !== undefined) return { at, end: at + form.length };
      index += 1;
    }
    return undefined;
  }
  function cut(bytes: Uint8Array, from: number): number {
    for (let at = Math.max(from, bytes.length - longest + 1); at < bytes.length; at += 1) {
      const left = bytes.length - at;
      const forms = beginning.get(bytes[at] ?? 0);
      if (forms?.some((form) => form.length > left && standsAt(form, bytes, at, left))) return at;
    }
    return bytes.length;
  }
  return { find, cut };
}

function blockAt(bytes: Uint8Array, index: number): number {
  return ((bytes[index - 1] ?? 0) << 8) | (bytes[index] ?? 0);
}

function file(map: Map<number, Buffer[]>, key: number, form: Buffer): void {
  const list = map.get(key);
  if (list === undefined) map.set(key, [form]);
  else list.push(form);
}

/** Whether the first `length` bytes of `form` stand at `at`. */
function standsAt(form: Buffer, bytes: Uint8Array, at: number, length: number): boolean {
  if (at + length > bytes.length) return false;
  for (let index = 0; index < length; index += 1) if (form[index] !== bytes[at + index]) return false;
  return true;
}
