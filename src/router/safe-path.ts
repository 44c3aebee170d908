/** Control characters, backslash, and what is left of an escape after one decoding: someone is being clever. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: that they are there is what is looked for
const suspicious = /[\0-\x1f\x7f\\%/]/;

/**
 * A path below a folder, checked and encoded anew: every segment decoded exactly once, none empty, hidden or a
 * dot segment. Undefined for any other. `rest` begins with "/"; the result does not.
 */
export function safeFilePath(rest: string): string | undefined {
  if (rest.length > 2048) return undefined;
  const segments = rest.slice(1).split('/').map(decodeSegment);
  if (segments.some((segment) => segment === undefined || segment === '' || segment.startsWith('.'))) {
    return undefined;
  }
  return segments.map((segment) => encodeURIComponent(segment ?? '')).join('/');
}

/** True when a path, sent on as it is, could leave the folder that it is put under. */
export function hasDotSegment(rest: string): boolean {
  return rest
    .slice(1)
    .split('/')
    .some((segment) => {
      const decoded = decodeSegment(segment);
      return decoded === undefined ? !isPlainlyEncoded(segment) : decoded === '.' || decoded === '..';
    });
}

/** An API may well have "%25" or "%2F" within a segment, as long as no reading of it is a dot segment. */
function isPlainlyEncoded(segment: string): boolean {
  let text = segment;
  for (let round = 0; round < 4; round++) {
    const parts = text.split(/[/\\]/);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: as above
    if (/[\0-\x1f\x7f\\]/.test(text) || parts.includes('..') || parts.includes('.')) return false;
    try {
      const decoded = decodeURIComponent(text);
      if (decoded === text) return true;
      text = decoded;
    } catch {
      return round > 0;
    }
  }
  return false;
}

function decodeSegment(segment: string): string | undefined {
  try {
    const decoded = decodeURIComponent(segment);
    return suspicious.test(decoded) ? undefined : decoded;
  } catch {
    return undefined;
  }
}
