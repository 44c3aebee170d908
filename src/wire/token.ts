import type { Clock } from '#kit/clock.ts';
import { oncePerObject } from '#kit/memo.ts';
import type { Random } from '#kit/random.ts';
import { bodyHash, type CallBinding } from './binding.ts';
import { type Actor, defaultScope, type InvocationClaims, type McpContext, type WireUser } from './claims.ts';
import { readClaimsText } from './claims-text.ts';
import { delegationTag } from './delegation.ts';
import { InvocationRejected } from './errors.ts';
import { decodeStrict, signCompact, verifyCompact } from './jws.ts';
import { type AgentIdentity, createKeyRing, type KeyRing, principalOf, type WireKey } from './keys.ts';
import type { ReplayWindow } from './replay.ts';

export interface MintOptions {
  /** Not to be changed afterwards, as `mcp`. */
  readonly agent: AgentIdentity;
  /** uid of the workload instance that will verify. */
  readonly instance: string;
  /** `router:first-party` or the principal of a delegating agent. */
  readonly caller: string;
  readonly user: WireUser | null;
  readonly call: CallBinding;
  readonly mcp?: McpContext;
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly random: Random;
  /** Default 60; clamped to 5…60. */
  readonly ttlSeconds?: number;
  /** Delegations so far. Default 0. */
  readonly hop?: number;
  /** What the person's credential is limited to. Default: nothing. */
  readonly scopes?: readonly string[] | undefined;
  /** What an agent that delegated has narrowed the tools to. Default: nothing. */
  readonly tools?: readonly string[] | undefined;
  /** Which agents delegated. Default: none. */
  readonly actor?: Actor | undefined;
  /** When given, the agent may present the token at the router to call another agent with it. */
  readonly delegation?: WireKey;
}

/** A token for one call to one workload (contract: invocation token). */
export function mintInvocation(key: WireKey, options: MintOptions): string {
  const text = claimsText(options);
  if (options.delegation === undefined) return signCompact(key, text);
  return signCompact(key, `${text.slice(0, -1)},"del":"${delegationTag(options.delegation, text)}"}`);
}

/**
 * InvocationClaims as JSON.stringify writes them, put together of parts: most of them are the same in every token for
 * an agent or of a session.
 */
function claimsText(options: MintOptions): string {
  const { agent, user, call, mcp, hop = 0 } = options;
  const iat = Math.floor(options.now / 1000);
  const exp = iat + Math.min(longestSeconds, Math.max(5, options.ttlSeconds ?? 60));
  const ims = Math.floor(options.now) % 1000;
  const jti = options.random.bytes(16).toString('base64url');
  const head = `{"typ":"invocation","iss":"ploinky-router","aud":${audienceText(agent)},"sub":${text(user?.id ?? '')}`;
  const what = `,"caller":${text(options.caller)},"tool":${text(call.tool)},"scope":${scopeText},"bh":"${bodyHash(call)}"`;
  const who = `,"usr":${user === null ? 'null' : JSON.stringify(user)},"jti":"${jti}"`;
  const when = `,"iat":${iat},"exp":${exp},"ims":${ims},"wl":${text(options.instance)},"hop":${hop}${boundsText(options)}`;
  return `${head}${what}${who}${when}${mcp === undefined ? '' : `,"mcp":${contextText(mcp)}`}}`;
}

/** Most calls have none. */
function boundsText({ scopes, tools, actor }: MintOptions): string {
  if (scopes === undefined && tools === undefined && actor === undefined) return '';
  const limits = scopes === undefined ? '' : `,"lim":${JSON.stringify(scopes)}`;
  const named = tools === undefined ? '' : `,"tls":${JSON.stringify(tools)}`;
  return `${limits}${named}${actor === undefined ? '' : `,"act":${JSON.stringify(actor)}`}`;
}

const scopeText = JSON.stringify(defaultScope);
const audienceText = oncePerObject(({ namespace, name }: AgentIdentity) =>
  JSON.stringify(principalOf(namespace, name)),
);
const sessionText = oncePerObject((mcp: McpContext) => JSON.stringify(mcp));

/** A session's context is the same object in all of its calls; one of a stateless request is seen once. */
function contextText(mcp: McpContext): string {
  return mcp.session === undefined ? JSON.stringify(mcp) : sessionText(mcp);
}

function text(value: string): string {
  return JSON.stringify(value);
}

export interface Verifier {
  /** The claims of a token that authorises exactly this call, once. Throws InvocationRejected. */
  verify(token: string | undefined, call: CallBinding): InvocationClaims;
  /** Other keys from now on; tokens that were used stay used. Throws InvalidKey and then changes nothing. */
  useKeys(keys: readonly WireKey[]): void;
}

export interface VerifierOptions {
  readonly keys: readonly WireKey[];
  /** The agent's principal. */
  readonly audience: string;
  /** uid of this workload instance. */
  readonly instance: string;
  readonly clock: Clock;
  readonly replay: ReplayWindow;
  /**
   * Milliseconds by which the clock of whoever mints may differ. Default 30,000; 0 where both read the same one. The replay
   * window must be told the same, or more.
   */
  readonly skewMs?: number;
}

const defaultSkewMs = 30_000;
/** A clock that is set while a token is on its way; one that is the same for both ends goes no other way ahead. */
const smallestLeadMs = 1_000;
const longestSeconds = 60;
/** Longer than any token can be accepted after it was minted. */
const bootGuardMs = longestSeconds * 1000 + 2 * defaultSkewMs;

/**
 * Checks signature, claims, clock, audience, workload, body hash, and last that the token was not used
 * before, so that a refused call burns no token. Tokens minted before the verifier was made are refused:
 * the replay window that knew them is gone.
 */
export function createVerifier(options: VerifierOptions): Verifier {
  let ring = createKeyRing(options.keys);
  const boot = { wall: options.clock.now(), monotonic: options.clock.monotonic() };

  return {
    verify(token, call) {
      const now = options.clock.now();
      const claims = openToken(token, ring, now, options.skewMs);
      const guarded = options.clock.monotonic() - boot.monotonic < bootGuardMs;
      if (guarded && claims.iat * 1000 + claims.ims < boot.wall) reject('jwtVerify: issued before start');
      if (claims.aud !== options.audience) reject('jwtVerify: audience mismatch');
      if (claims.wl !== options.instance) reject('jwtVerify: workload mismatch');
      // Signed, and known to whoever has the token: nothing to learn from how long this takes.
      if (claims.bh !== bodyHash(call)) reject('jwtVerify: body hash mismatch');
      claimOnce(options.replay, claims);
      return claims;
    },
    useKeys(keys) {
      ring = createKeyRing(keys);
    },
  };
}

/**
 * Signature, shape and times of a token; what a verifier and the router's delegation check have in common.
 * `now` is milliseconds since the epoch.
 */
export function openToken(
  token: string | undefined,
  ring: KeyRing,
  now: number,
  skewMs = defaultSkewMs,
): InvocationClaims {
  if (token === undefined || token === '') throw new InvocationRejected('missing secure wire headers');
  const { header, payload } = verifyCompact(token, ring);
  if (header['typ'] !== 'JWT') reject('jwtVerify: malformed token');
  const claims = readClaimsText(payload.toString('utf8'));
  if (claims.exp <= claims.iat || claims.exp - claims.iat > longestSeconds) {
    reject('jwtVerify: lifetime too long');
  }
  if (claims.iat * 1000 > now + Math.max(skewMs, smallestLeadMs)) reject('jwtVerify: issued in the future');
  if (claims.exp * 1000 + skewMs <= now) reject('jwtVerify: token expired');
  return claims;
}

function claimOnce(replay: ReplayWindow, claims: InvocationClaims): void {
  const id = decodeStrict(claims.jti);
  if (id.length !== 16) reject('jwtVerify: malformed claims');
  const outcome = replay.claim(id, claims.exp * 1000);
  if (outcome === 'replayed') reject('jwtVerify: token replayed');
  if (outcome === 'full') reject('jwtVerify: replay window full');
}

function reject(reason: InvocationRejected['reason']): never {
  throw new InvocationRejected(reason);
}
