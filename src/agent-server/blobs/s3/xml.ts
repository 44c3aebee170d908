/** An object as a list names it. */
export interface Listed {
  readonly key: string;
  readonly bytes: number;
  /** Milliseconds since the epoch. */
  readonly modified: number;
}

export interface ListPage {
  readonly objects: readonly Listed[];
  /** Undefined on the last page. */
  readonly next: string | undefined;
}

/** Answer of ListObjectsV2. Of keys that this program makes nothing needs more than these few escapes. */
export function readList(text: string): ListPage {
  const objects = each(text, 'Contents').map((item) => ({
    key: first(item, 'Key') ?? '',
    bytes: Number(first(item, 'Size') ?? 0),
    modified: Date.parse(first(item, 'LastModified') ?? ''),
  }));
  const isCut = first(text, 'IsTruncated') === 'true';
  return { objects, next: isCut ? first(text, 'NextContinuationToken') : undefined };
}

/** Answer of ListMultipartUploads. */
export function readUploads(text: string): { key: string; id: string; begun: number }[] {
  return each(text, 'Upload').map((item) => ({
    key: first(item, 'Key') ?? '',
    id: first(item, 'UploadId') ?? '',
    begun: Date.parse(first(item, 'Initiated') ?? ''),
  }));
}

export function uploadIdIn(text: string): string | undefined {
  return first(text, 'UploadId');
}

/** Of an error. */
export function codeIn(text: string): string | undefined {
  return first(text.includes('<Error') ? text : '', 'Code')?.slice(0, 100);
}

function each(text: string, name: string): string[] {
  return [...text.matchAll(new RegExp(`<${name}>(.*?)</${name}>`, 'gs'))].map(([, inner = '']) => inner);
}

function first(text: string, name: string): string | undefined {
  const found = new RegExp(`<${name}>([^<]*)</${name}>`).exec(text)?.[1];
  return found === undefined ? undefined : unescaped(found);
}

const escapes: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

function unescaped(text: string): string {
  return text.replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]+));/gi, (whole, decimal, hex, name) => {
    if (decimal !== undefined) return String.fromCodePoint(Number(decimal));
    if (hex !== undefined) return String.fromCodePoint(Number.parseInt(hex, 16));
    return escapes[name] ?? whole;
  });
}
