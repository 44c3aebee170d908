import { createHmac, timingSafeEqual } from 'node:crypto';
import { isObject } from '#kit/json.ts';
import { keyObjectOf, type WireKey } from './keys.ts';

/**
 * Where an agent-server answers the challenge, without a token: `GET …?nonce=<32 bytes base64url>&kids=<kid>,<kid>`.
 * `kids`, which older peers neither send nor read, are the asker's keys in the order in which it prefers them.
 */
export const proofPath = '/.well-known/ploinky-proof';

export interface Proof {
  readonly kid: string;
  readonly proof: string;
}

/** base64url(HMAC-SHA256(key, "ploinky-proof/v1\n" instance "\n" nonce)). */
export function proofOf(key: WireKey, instance: string, nonce: string): string {
  const input = `ploinky-proof/v1\n${instance}\n${nonce}`;
  return createHmac('sha256', keyObjectOf(key)).update(input).digest('base64url');
}

/** True for what a challenge may carry: 32 bytes in unpadded base64url. An agent-server answers 400 to any other. */
export function isNonce(text: unknown): text is string {
  return typeof text === 'string' && /^[A-Za-z0-9_-]{43}$/.test(text);
}

/** Query of a challenge. */
export function challengeQuery(nonce: string, keys: readonly WireKey[]): string {
  return `?nonce=${nonce}&kids=${keys.map((key) => key.kid).join(',')}`;
}

/**
 * The key to answer a challenge with: the first of the asker's that this end holds too, so that during a rotation
 * two ends of which only one knows the new key still meet; for an asker that names none, the current one.
 */
export function keyForChallenge(held: readonly WireKey[], kids: string | null): WireKey | undefined {
  const wanted = (kids ?? '').split(',', 4);
  for (const kid of wanted) {
    const key = held.find((candidate) => candidate.kid === kid);
    if (key !== undefined) return key;
  }
  return held[0];
}

/** The answer that proves possession of the key. */
export function answerChallenge(key: WireKey, instance: string, nonce: string): Proof {
  return { kid: key.kid, proof: proofOf(key, instance, nonce) };
}

/** The one of `keys` that the answer was made with, for this instance and nonce; undefined when it proves none. */
export function provenKey(
  answer: unknown,
  keys: readonly WireKey[],
  expected: { readonly instance: string; readonly nonce: string },
): WireKey | undefined {
  if (!isObject(answer) || typeof answer['proof'] !== 'string') return undefined;
  const key = keys.find((candidate) => candidate.kid === answer['kid']);
  if (key === undefined) return undefined;
  const given = Buffer.from(answer['proof']);
  const right = Buffer.from(proofOf(key, expected.instance, expected.nonce));
  return given.length === right.length && timingSafeEqual(given, right) ? key : undefined;
}
