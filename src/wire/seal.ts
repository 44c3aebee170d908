import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { isObject } from '#kit/json.ts';
import { WireError } from './errors.ts';
import { keyObjectOf, type WireKey } from './keys.ts';

const format = 1;
const kidBytes = 4;
const ivBytes = 12;
const tagBytes = 16;
const prefixBytes = 1 + kidBytes + ivBytes;
/** A sealed value travels in a header and in every request, unless it says that it does not. */
const longestSealed = 1024;

/**
 * AES-256-GCM of a JSON object with the first key, in base64url, at most `longest` characters, 1 KiB by default:
 * format (1 byte), kid (4), iv (12), ciphertext, tag (16); purpose and prefix are authenticated.
 * Throws SealTooLarge.
 */
export function seal(
  keys: readonly WireKey[],
  purpose: string,
  payload: object,
  longest = longestSealed,
): string {
  const [key] = keys;
  if (key === undefined) throw new WireError('InvalidKey', 'no key to seal with');
  const kid = Buffer.from(key.kid, 'hex');
  const iv = randomBytes(ivBytes);
  const prefix = Buffer.concat([Buffer.from([format]), kid, iv]);
  const cipher = createCipheriv('aes-256-gcm', keyObjectOf(key), iv);
  cipher.setAAD(Buffer.concat([prefix, Buffer.from(purpose)]));
  const body = Buffer.concat([cipher.update(JSON.stringify(payload), 'utf8'), cipher.final()]);
  const sealed = Buffer.concat([prefix, body, cipher.getAuthTag()]).toString('base64url');
  if (sealed.length > longest) {
    throw new WireError('SealTooLarge', `a sealed ${purpose} of ${sealed.length} bytes is over ${longest}`);
  }
  return sealed;
}

/** What was sealed for this purpose with one of the keys; undefined for anything else. Expiry is the caller's matter. */
export function unseal(
  keys: readonly WireKey[],
  purpose: string,
  sealed: string,
  longest = longestSealed,
): Record<string, unknown> | undefined {
  if (sealed.length > longest || !/^[A-Za-z0-9_-]+$/.test(sealed)) return undefined;
  const bytes = Buffer.from(sealed, 'base64url');
  if (bytes.length < prefixBytes + tagBytes || bytes[0] !== format) return undefined;
  if (bytes.toString('base64url') !== sealed) return undefined;
  const kid = bytes.subarray(1, 1 + kidBytes).toString('hex');
  const key = keys.find((candidate) => candidate.kid === kid);
  return key === undefined ? undefined : open(key, purpose, bytes);
}

function open(key: WireKey, purpose: string, bytes: Buffer): Record<string, unknown> | undefined {
  const prefix = bytes.subarray(0, prefixBytes);
  const decipher = createDecipheriv('aes-256-gcm', keyObjectOf(key), prefix.subarray(1 + kidBytes), {
    authTagLength: tagBytes,
  });
  decipher.setAAD(Buffer.concat([prefix, Buffer.from(purpose)]));
  decipher.setAuthTag(bytes.subarray(-tagBytes));
  try {
    const body = decipher.update(bytes.subarray(prefixBytes, -tagBytes));
    const value: unknown = JSON.parse(Buffer.concat([body, decipher.final()]).toString('utf8'));
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
