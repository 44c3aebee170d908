/** Bytes from `start` to before `end`. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/**
 * What a Range header asks for of `size` bytes (RFC 9110 §14.1.2). Undefined: all of it, because nothing valid was
 * asked, or several ranges, which a server may leave. `unsatisfiable`: nothing of it is there.
 */
export function readRange(header: string | undefined, size: number): ByteRange | 'unsatisfiable' | undefined {
  const match = /^bytes[ \t]*=[ \t]*(\d*)-(\d*)[ \t]*$/i.exec(header ?? '');
  if (match === null) return undefined;
  const [, first = '', last = ''] = match;
  if (first === '' && last === '') return undefined;
  if (first === '') return suffix(Number(last), size);
  const start = Number(first);
  const end = last === '' ? Number.POSITIVE_INFINITY : Number(last);
  if (end < start) return undefined;
  if (start >= size) return 'unsatisfiable';
  return { start, end: Math.min(size, end + 1) };
}

function suffix(bytes: number, size: number): ByteRange | 'unsatisfiable' {
  if (bytes === 0 || size === 0) return 'unsatisfiable';
  return { start: Math.max(0, size - bytes), end: size };
}
