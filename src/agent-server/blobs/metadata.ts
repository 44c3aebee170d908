import type { Clock } from '#kit/clock.ts';
import { isObject } from '#kit/json.ts';
import type { BlobInfo } from '#wire/blobs.ts';
import { cleanName } from '../files/disposition.ts';
import { type BlobLimits, ttlWithin } from './limits.ts';
import type { Upload } from './store.ts';

const mediaType =
  /^[a-z0-9!#$&^_.+-]{1,127}\/[a-z0-9!#$&^_.+-]{1,127}(?:; ?[a-z0-9_-]{1,64}=[A-Za-z0-9!#$&^_.+'-]{1,127}){0,4}$/i;

export const unknownType = 'application/octet-stream';

/** A media type that may stand in a header, as it was said; of anything else nothing is believed. */
export function readMime(text: string | undefined): string {
  return text !== undefined && mediaType.test(text.trim()) ? text.trim() : unknownType;
}

/** What stands beside a blob, where it is a blob's; agents can write there. `size` is what the file has. */
export function readInfo(text: string, id: string, size: number): BlobInfo | undefined {
  const value = parse(text);
  if (!isObject(value) || value['id'] !== id) return undefined;
  const { mime, createdAt, agent, filename, sha256, expiresAt } = value;
  if (typeof createdAt !== 'string' || Number.isNaN(Date.parse(createdAt))) return undefined;
  const ends = typeof expiresAt === 'string' && !Number.isNaN(Date.parse(expiresAt));
  return {
    id,
    mime: readMime(typeof mime === 'string' ? mime : undefined),
    size,
    createdAt,
    agent: typeof agent === 'string' ? agent : '',
    filename: typeof filename === 'string' ? cleanName(filename) : null,
    localPath: `blobs/${id}`,
    sha256: typeof sha256 === 'string' && /^[0-9a-f]{64}$/.test(sha256) ? sha256 : '',
    ...(ends && { expiresAt }),
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** `now` in milliseconds since the epoch. */
export function isExpired({ expiresAt }: BlobInfo, now: number): boolean {
  return expiresAt !== undefined && Date.parse(expiresAt) <= now;
}

/** As it stands beside a blob (Ploinky contract, §7). */
export function infoText(info: BlobInfo, url: string | undefined): string {
  const more = { repo: null, ...(url !== undefined && { downloadUrl: `${url}/${info.id}` }) };
  return `${JSON.stringify({ ...info, ...more })}\n`;
}

/** What a store keeps of an upload once all of it is there. */
export function describeBlob(
  { id, size, sha256 }: Pick<BlobInfo, 'id' | 'size' | 'sha256'>,
  { mime, filename, ttlSeconds: said }: Upload,
  { clock, agent, limits }: Described,
): BlobInfo {
  const now = clock.now();
  const ttlSeconds = ttlWithin(said, limits);
  const ends = ttlSeconds > 0 && { expiresAt: new Date(now + ttlSeconds * 1000).toISOString() };
  const createdAt = new Date(now).toISOString();
  return { id, mime, size, createdAt, agent, filename, localPath: `blobs/${id}`, sha256, ...ends };
}

interface Described {
  readonly clock: Clock;
  readonly agent: string;
  readonly limits: Pick<BlobLimits, 'ttlSeconds'>;
}
