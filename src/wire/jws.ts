import { timingSafeEqual } from 'node:crypto';
import { isObject } from '#kit/json.ts';
import { InvocationRejected } from './errors.ts';
import { hmacText } from './hmac.ts';
import type { KeyRing, WireKey } from './keys.ts';

/** Tokens are sent in a header: anything longer is refused unread. */
const maxTokenLength = 8192;
const signatureLength = 43;

/** JWS compact serialisation (RFC 7515 §3.1) with HS256 and header `{alg, typ, kid}`. */
export function signCompact(key: WireKey, payload: string): string {
  const input = `${headerOf(key)}.${Buffer.from(payload).toString('base64url')}`;
  return `${input}.${hmacText(key, input)}`;
}

export interface CompactContent {
  readonly header: Readonly<Record<string, unknown>>;
  readonly payload: Buffer;
}

/**
 * Content of a compact JWS whose HS256 signature is right. Strict where RFC 7515 lets readers be lax:
 * exactly three parts, canonical unpadded base64url, no duplicate header member, `alg` exactly HS256,
 * `kid` one of the ring's, and no header member besides alg, typ, kid (so no crit, jku, jwk, x5u, b64, zip).
 * Throws InvocationRejected. Does NOT look at the payload.
 */
export function verifyCompact(token: string, ring: KeyRing): CompactContent {
  const first = token.indexOf('.');
  const second = token.indexOf('.', first + 1);
  const isCompact = first > 0 && second > first + 1 && token.length - second - 1 === signatureLength;
  if (token.length > maxTokenLength || !isCompact || token.includes('.', second + 1)) {
    throw new InvocationRejected('jwtVerify: malformed token');
  }
  const { header, key } = knownHeader(token.slice(0, first), ring);
  const signature = token.slice(second + 1);
  // The only canonical form of the right signature is this text.
  if (!isSameSignature(signature, hmacText(key, token.slice(0, second)))) {
    decodeStrict(signature);
    throw new InvocationRejected('jwtVerify: signature invalid');
  }
  return { header, payload: decodeStrict(token.slice(first + 1, second)) };
}

const given = Buffer.alloc(3 * signatureLength);
const right = Buffer.alloc(3 * signatureLength);

/** In a time that does not depend on where they differ. What has other characters takes more bytes. */
function isSameSignature(signature: string, expected: string): boolean {
  const bytes = given.write(signature);
  const isEqual = timingSafeEqual(given.fill(0, bytes), right.fill(0, right.write(expected)));
  return isEqual && bytes === signatureLength;
}

interface ReadHeader {
  readonly header: Record<string, unknown>;
  readonly key: WireKey;
}

/** Good headers by their text, for each ring: almost every token has one of two. */
const knownHeaders = new WeakMap<KeyRing, Map<string, ReadHeader>>();
const mostKnownHeaders = 16;

function knownHeader(part: string, ring: KeyRing): ReadHeader {
  const known = knownHeaders.get(ring) ?? new Map<string, ReadHeader>();
  const found = known.get(part);
  if (found !== undefined) return found;
  const read = readHeader(part, ring);
  if (known.size < mostKnownHeaders) knownHeaders.set(ring, known.set(part, read));
  return read;
}

function readHeader(part: string, ring: KeyRing): ReadHeader {
  const header = parseStrict(decodeStrict(part).toString('utf8'));
  const known = Object.keys(header).every((name) => name === 'alg' || name === 'typ' || name === 'kid');
  if (!known || header['alg'] !== 'HS256' || typeof header['kid'] !== 'string') {
    throw new InvocationRejected('jwtVerify: malformed token');
  }
  const key = ring.find(header['kid']);
  if (key === undefined) throw new InvocationRejected('jwtVerify: unknown key');
  return { header, key };
}

/**
 * A JSON object without duplicate members: what JSON.parse made of it must serialise to the same text,
 * white space between tokens aside. That also refuses escapes and number forms no serialiser writes.
 */
export function parseStrict(text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new InvocationRejected('jwtVerify: malformed token');
  }
  if (!isObject(value) || !sameText(text, JSON.stringify(value))) {
    throw new InvocationRejected('jwtVerify: malformed token');
  }
  return value;
}

function sameText(given: string, canonical: string): boolean {
  return given === canonical || given.replace(/("(?:[^"\\]|\\.)*")|\s+/g, '$1') === canonical;
}

/**
 * Base64url of RFC 4648 §5, unpadded, with unused bits zero. Buffer alone takes the other alphabet, padding and
 * any bits, and skips what it does not know, which then shows in the length.
 */
export function decodeStrict(text: string): Buffer {
  const bytes = Buffer.from(text, 'base64url');
  const complete = text !== '' && bytes.length === Math.floor((text.length * 3) / 4);
  const foreign = text.includes('+') || text.includes('/') || text.includes('=');
  if (!complete || foreign || !endsWithZeroBits(text)) {
    throw new InvocationRejected('jwtVerify: malformed token');
  }
  return bytes;
}

function endsWithZeroBits(text: string): boolean {
  const last = text.at(-1) ?? '';
  if (text.length % 4 === 2) return 'AQgw'.includes(last);
  if (text.length % 4 === 3) return 'AEIMQUYcgkosw048'.includes(last);
  return text.length % 4 === 0;
}

const headers = new WeakMap<WireKey, string>();

function headerOf(key: WireKey): string {
  const known = headers.get(key);
  if (known !== undefined) return known;
  const made = Buffer.from(JSON.stringify({ alg: 'HS256', typ: 'JWT', kid: key.kid })).toString('base64url');
  headers.set(key, made);
  return made;
}
