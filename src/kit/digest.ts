import { createHash } from 'node:crypto';
import { canonicalJson } from './json.ts';

/** SHA-256 of a string or bytes in lower-case hex. */
export function sha256Hex(data: string | Uint8Array): string {
  return createHash('sha256').update(data).digest('hex');
}

/** First `length` hex digits of the SHA-256 of a value's canonical JSON. Default 16. */
export function digestOf(value: unknown, length = 16): string {
  return sha256Hex(canonicalJson(value)).slice(0, length);
}
