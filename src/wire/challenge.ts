import { createHmac, timingSafeEqual } from 'node:crypto';
import { isObject } from '#kit/json.ts';
import { keyObjectOf, type WireKey } from './keys.ts';

/** Where an agent-server answers the challenge, without a token: `GET …?nonce=<32 bytes base64url>`. */
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

/** The answer that proves possession, made with the current key. */
export function answerChallenge(key: WireKey, instance: string, nonce: string): Proof {
  return { kid: key.kid, proof: proofOf(key, instance, nonce) };
}

/** True when the answer was made with one of `keys` for this instance and nonce. */
export function isProof(
  answer: unknown,
  keys: readonly WireKey[],
  expected: { readonly instance: string; readonly nonce: string },
): boolean {
  if (!isObject(answer) || typeof answer['proof'] !== 'string') return false;
  const key = keys.find((candidate) => candidate.kid === answer['kid']);
  if (key === undefined) return false;
  const given = Buffer.from(answer['proof']);
  const right = Buffer.from(proofOf(key, expected.instance, expected.nonce));
  return given.length === right.length && timingSafeEqual(given, right);
}
