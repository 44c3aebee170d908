import { createHash, randomBytes, scrypt, timingSafeEqual } from 'node:crypto';

/** About 32 MiB and 50 to 150 ms a check. */
const cost = { N: 32_768, r: 8, p: 1 };
/** What the form without parameters was made with. */
const legacyCost = { N: 16_384, r: 8, p: 1 };
const saltBytes = 16;
const hashBytes = 32;
/** A hash may not ask for more: it would be a way to fill the memory. */
const mostMemory = 268_435_456;
export const longestPassword = 1024;

/** `scrypt:<N>,<r>,<p>:<salt>:<hash>`, both in base64url. Takes its time, off the event loop. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(saltBytes);
  const hash = await derive(password, salt, hashBytes, cost);
  const parameters = `${cost.N},${cost.r},${cost.p}`;
  return `scrypt:${parameters}:${salt.toString('base64url')}:${hash.toString('base64url')}`;
}

/**
 * Whether it is the password of a hash; of none, never. Takes as long for an unknown user (`undefined`), a legacy hash
 * and one that cannot be read as for a hash of today.
 */
export async function checkPassword(password: string, stored: string | undefined): Promise<boolean> {
  const parsed = stored === undefined ? undefined : parse(stored);
  if (password.length > longestPassword) return false;
  if (parsed === undefined) {
    await derive(password, dummySalt, hashBytes, cost);
    return false;
  }
  const { hash } = parsed;
  if (parsed.kind === 'sha256') {
    await derive(password, dummySalt, hashBytes, cost);
    return areEqual(createHash('sha256').update(password).digest(), hash);
  }
  const found = await derive(password, parsed.salt, hash.length, parsed.cost);
  // Half of today's work: the other half makes it take as long.
  if (parsed.cost === legacyCost) await derive(password, dummySalt, hashBytes, legacyCost);
  return areEqual(found, hash);
}

/** True for forms that earlier versions wrote; they count, and are weaker. */
export function isLegacyHash(stored: string): boolean {
  const parsed = parse(stored);
  return parsed?.kind === 'sha256' || parsed?.cost === legacyCost;
}

/** False for what no password can match. */
export function isPasswordHash(stored: string): boolean {
  return parse(stored) !== undefined;
}

interface Cost {
  readonly N: number;
  readonly r: number;
  readonly p: number;
}

const dummySalt = Buffer.alloc(saltBytes, 1);

type Parsed =
  | { readonly kind: 'sha256'; readonly hash: Buffer; readonly cost?: undefined }
  | {
      readonly kind: 'scrypt';
      readonly hash: Buffer;
      readonly salt: Buffer | string;
      readonly cost: Cost;
    };

function parse(stored: string): Parsed | undefined {
  const plain = /^sha256:([0-9a-f]{64})$/i.exec(stored)?.[1];
  if (plain !== undefined) return { kind: 'sha256', hash: Buffer.from(plain, 'hex') };
  const legacy = /^scrypt:([^:,]{1,256}):([0-9a-f]{32,256})$/i.exec(stored);
  if (legacy?.[1] !== undefined && legacy[2] !== undefined && legacy[2].length % 2 === 0)
    return { kind: 'scrypt', salt: legacy[1], hash: Buffer.from(legacy[2], 'hex'), cost: legacyCost };
  const match = /^scrypt:(\d{1,8}),(\d{1,3}),(\d{1,3}):([\w-]{11,128}):([\w-]{22,256})$/.exec(stored);
  if (match === null) return undefined;
  const [, N, r, p, salt = '', hash = ''] = match;
  const asked = { N: Number(N), r: Number(r), p: Number(p) };
  const isPower = asked.N >= 2 && (asked.N & (asked.N - 1)) === 0;
  if (!isPower || asked.r < 1 || asked.p < 1 || asked.p > 16 || 128 * asked.N * asked.r > mostMemory)
    return undefined;
  return {
    kind: 'scrypt',
    salt: Buffer.from(salt, 'base64url'),
    hash: Buffer.from(hash, 'base64url'),
    cost: asked,
  };
}

function derive(password: string, salt: Buffer | string, length: number, { N, r, p }: Cost): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  scrypt(password, salt, length, { N, r, p, maxmem: 256 * N * r + 1_048_576 }, (error, key) =>
    error === null ? resolve(key) : reject(error),
  );
  return promise;
}

function areEqual(left: Buffer, right: Buffer): boolean {
  return left.length === right.length && timingSafeEqual(left, right);
}
