import type { IncomingMessage } from 'node:http';
import { sha256Hex } from '#kit/digest.ts';
import { type Access, bearerRealm, type Issuer } from '#routing/access.ts';
import type { Services } from '../../services.ts';
import type { Authenticator, Identity } from '../authenticator.ts';
import { resourceOf } from '../metadata/resource.ts';
import type { IssuerKeys } from './issuer-keys.ts';
import { insufficientScope, invalidToken } from './refusals.ts';
import { userOf } from './user.ts';
import { issuerOf, type VerifiedToken, verifyToken } from './verify-token.ts';

/** Tokens that are remembered as verified; the longest unused make room. */
const mostVerified = 2_048;

interface Entry {
  readonly token: VerifiedToken;
  /** By what an Access asks and whether the token is for the very URL: the same object for the same question. */
  readonly identities: readonly [WeakMap<Access, Identity>, WeakMap<Access, Identity>];
}

/** `Authorization: Bearer JWT` of the issuers that an Access names, for MCP clients (RFC 6750, 8707, 9068). */
export function createBearerAuthenticator(
  services: Pick<Services, 'clock' | 'auth'>,
  keys: IssuerKeys,
): Authenticator {
  const { clock, auth: settings } = services;
  const verified = new Map<string, Entry>();
  const running = new Map<string, Promise<Entry>>();

  function recall(digest: string): Entry | undefined {
    const entry = verified.get(digest);
    if (entry === undefined) return undefined;
    verified.delete(digest);
    if (entry.token.expires <= clock.now()) return undefined;
    verified.set(digest, entry);
    return entry;
  }

  /** What the same token is asked for at the same time is done once. */
  function verify(digest: string, token: string, issuer: string): Promise<Entry> {
    const before = running.get(digest);
    if (before !== undefined) return before;
    const made = verifyToken(token, issuer, keys, clock)
      .then((found) => {
        const entry: Entry = { token: found, identities: [new WeakMap(), new WeakMap()] };
        verified.set(digest, entry);
        const [oldest] = verified.size > mostVerified ? verified.keys().take(1) : [];
        if (oldest !== undefined) verified.delete(oldest);
        return entry;
      })
      .finally(() => running.delete(digest));
    running.set(digest, made);
    return made;
  }

  function judge({ token, identities }: Entry, request: IncomingMessage, access: Access): Identity {
    const issuer = access.issuers.find(({ url }) => url === token.issuer);
    if (issuer === undefined) throw invalidToken('The token’s issuer does not count here.');
    const { url, isOwn } = resourceOf(request, settings);
    const audiences = [token.claims.aud ?? []].flat();
    const isForUrl = isOwn && audiences.includes(url);
    checkAudience(issuer, audiences, isForUrl, isOwn ? url : undefined);
    checkScopes(issuer, token.scopes);
    const known = identities[isForUrl ? 1 : 0].get(access);
    if (known !== undefined) return known;
    const identity: Identity = {
      user: userOf(token.issuer, token.claims, access.sso?.issuer === token.issuer ? access.sso : undefined),
      proof: 'bearer',
      realm: bearerRealm(token.issuer, access),
      scopes: token.scopes,
      claims: token.claims,
      ownAudience: isForUrl,
      expires: token.expires,
    };
    identities[isForUrl ? 1 : 0].set(access, identity);
    return identity;
  }

  return {
    identify(request, access) {
      if (access.issuers.length === 0) return undefined;
      const token = tokenOf(request);
      if (token === undefined) return undefined;
      const digest = sha256Hex(token);
      const known = recall(digest);
      if (known !== undefined) return judge(known, request, access);
      const issuer = issuerOf(token);
      if (!access.issuers.some(({ url }) => url === issuer)) {
        throw invalidToken('The token’s issuer does not count here.');
      }
      return verify(digest, token, issuer).then((entry) => judge(entry, request, access));
    },
  };
}

/** Undefined without a token, and for a key of our own, which is another one's to read. */
function tokenOf({ headers }: IncomingMessage): string | undefined {
  const token = /^bearer +([A-Za-z0-9._~+/=-]+) *$/i.exec(headers.authorization ?? '')?.[1];
  return token?.startsWith('plk_') ? undefined : token;
}

function checkAudience(
  { audiences }: Issuer,
  stated: readonly string[],
  isForUrl: boolean,
  own: string | undefined,
): void {
  if (audiences !== undefined) {
    if (!audiences.some((audience) => stated.includes(audience)))
      throw invalidToken('The token is for somebody else.');
  } else if (!isForUrl) {
    throw invalidToken(
      own === undefined
        ? 'The router does not know its own address: set its public URL, or the audiences of the issuer.'
        : `The token is for somebody else than ${own}.`,
    );
  }
}

function checkScopes({ scopes = [] }: Issuer, held: readonly string[]): void {
  if (scopes.every((scope) => held.includes(scope))) return;
  throw insufficientScope(scopes, held);
}
