/** Longest file name that is kept, in characters. */
const longestName = 512;

/**
 * Content-Disposition for a name of any characters (RFC 6266, RFC 8187): a plain form for old readers, in which no character
 * means anything, and the whole name beside it. Never `inline`: what somebody uploaded is no page of this site.
 */
export function attachment(name: string | null): string {
  if (name === null || name === '') return 'attachment';
  const plain = name.replace(/[^A-Za-z0-9 ._()+,=@!#$&^~-]/g, '_');
  const quoted = `attachment; filename="${plain}"`;
  return plain === name ? quoted : `${quoted}; filename*=UTF-8''${encodeExtended(name)}`;
}

function encodeExtended(name: string): string {
  const percent = (character: string) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
  return encodeURIComponent(name.toWellFormed()).replace(/['()*]/g, percent);
}

/** The name in a Content-Disposition header; null when there is none that can be read. */
export function nameIn(header: string | undefined): string | null {
  if (header === undefined || header.length > 8192) return null;
  const extended = /;\s*filename\*\s*=\s*utf-8'[^']*'([^\s;]+)/i.exec(header)?.[1];
  const decoded = extended === undefined ? undefined : decode(extended);
  if (decoded !== undefined) return cleanName(decoded);
  const quoted = /;\s*filename\s*=\s*"((?:[^"\\]|\\.)*)"/i.exec(header)?.[1];
  if (quoted !== undefined) return cleanName(fromLatin(quoted.replace(/\\(.)/g, '$1')));
  const bare = /;\s*filename\s*=\s*([^\s;"]+)/i.exec(header)?.[1];
  return bare === undefined ? null : cleanName(fromLatin(bare));
}

/** A name from a header that is encoded as in a URL, or is not. */
export function nameOf(header: string | undefined): string | null {
  return header === undefined ? null : cleanName(decode(header) ?? fromLatin(header));
}

/** The last part of a path, without characters that no name of a file has; null when nothing is left. */
export function cleanName(text: string): string | null {
  const last = text.toWellFormed().split(/[/\\]/).at(-1) ?? '';
  // biome-ignore lint/suspicious/noControlCharactersInRegex: that they are there is what is looked for
  const name = last.replace(/[\0-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g, '').trim();
  const short = Array.from(name).slice(0, longestName).join('').trimEnd();
  return short === '' || short === '.' || short === '..' ? null : short;
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** Node reads headers byte by byte; programs that write UTF-8 into them mean that. */
function fromLatin(text: string): string {
  const bytes = Buffer.from(text, 'latin1');
  const read = bytes.toString('utf8');
  return read.includes('\ufffd') ? text : read;
}
