import { decodeJwt, errors, type JWTPayload, jwtVerify } from 'jose';
import type { Clock } from '#kit/clock.ts';
import { AuthRefused } from '../authenticator.ts';
import { OutgoingError } from '../outgoing/errors.ts';
import type { IssuerKeys } from './issuer-keys.ts';
import { invalidToken } from './refusals.ts';

/** What a token says whose signature, issuer and times were checked; not whom it is for. */
export interface VerifiedToken {
  readonly issuer: string;
  readonly claims: JWTPayload;
  readonly scopes: readonly string[];
  /** Milliseconds since the epoch. */
  readonly expires: number;
}

/** Asymmetric signatures alone: `none` and shared secrets are no proof of who made a token. */
const algorithms = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
];
/** RFC 9068, and what issuers wrote before it. */
const types = new Set(['at+jwt', 'application/at+jwt', 'jwt', 'application/jwt', undefined]);
/** What an ID token or a logout token has, and an access token has not. */
const foreign = ['nonce', 'at_hash', 'c_hash', 's_hash', 'events'];
const skewSeconds = 10;
const longestToken = 8_192;

/** The issuer that a token names, before anything of it is believed. Throws AuthRefused. */
export function issuerOf(token: string): string {
  if (token.length > longestToken || token.split('.').length !== 3) throw invalidToken('This is no JWT.');
  try {
    const { iss } = decodeJwt(token);
    if (typeof iss === 'string') return iss;
  } catch {
    // Said below.
  }
  throw invalidToken('The token names no issuer.');
}

/** Rejects with AuthRefused: 401 for a token that is none, 503 where the issuer's keys cannot be had. */
export async function verifyToken(
  token: string,
  issuer: string,
  keys: IssuerKeys,
  clock: Clock,
): Promise<VerifiedToken> {
  const now = clock.now();
  try {
    const { payload, protectedHeader } = await jwtVerify(
      token,
      (header, jws) => keys.find(issuer, { ...header, alg: header.alg ?? '' }, jws),
      {
        issuer,
        algorithms,
        clockTolerance: skewSeconds,
        currentDate: new Date(now),
        requiredClaims: ['exp', 'sub', 'aud'],
      },
    );
    checkKind(payload, protectedHeader.typ, now);
    const expires = (payload.exp ?? 0) * 1000;
    return { issuer, claims: payload, scopes: scopesOf(payload), expires };
  } catch (error) {
    throw refusalOf(error, issuer);
  }
}

function checkKind(payload: JWTPayload, typ: string | undefined, now: number): void {
  if (!types.has(typ?.toLowerCase()) || foreign.some((name) => payload[name] !== undefined)) {
    throw invalidToken('This is no access token.');
  }
  if ((payload.iat ?? 0) > now / 1000 + skewSeconds) throw invalidToken('The token was made in the future.');
  if (payload.sub === '' || typeof payload.sub !== 'string') throw invalidToken('The token names nobody.');
}

function scopesOf({ scope, scp }: JWTPayload): readonly string[] {
  const stated = typeof scope === 'string' ? scope : scp;
  if (typeof stated === 'string') return stated.split(' ').filter((name) => name !== '');
  return Array.isArray(stated) ? stated.filter((name) => typeof name === 'string') : [];
}

function refusalOf(error: unknown, issuer: string): AuthRefused {
  if (error instanceof AuthRefused) return error;
  if (error instanceof OutgoingError) {
    const description = `The keys of ${issuer} cannot be had now.`;
    return new AuthRefused({ status: 503, code: 'temporarily_unavailable', description });
  }
  if (error instanceof errors.JWTExpired) return invalidToken('The token has expired.');
  if (error instanceof errors.JWTClaimValidationFailed) {
    return invalidToken(`The token’s "${error.claim}" does not hold.`);
  }
  return invalidToken('The token’s signature does not hold.');
}
