import { isObject } from '#kit/json.ts';
import { InvocationRejected } from './errors.ts';

/** The person on whose behalf a call is made; null claims mean nobody in particular. */
export interface WireUser {
  readonly sub: string;
  readonly id: string;
  readonly email: string;
  readonly username: string;
  readonly roles: readonly string[];
  /** Who knows them; absent where nothing asked. */
  readonly realm?: string;
}

/** What the agent-server must know of the client's MCP session; its state is kept under `session`. */
export interface McpContext {
  /** Absent: a stateless request (2026-07-28). */
  readonly session?: string;
  readonly revision: string;
  readonly capabilities?: Readonly<Record<string, unknown>>;
  readonly client?: { readonly name: string; readonly version: string };
}

/** An agent that delegated, and the one that had delegated to it. */
export interface Actor {
  /** Its principal. */
  readonly sub: string;
  readonly act?: Actor;
}

export interface InvocationClaims {
  readonly typ: 'invocation';
  readonly iss: 'ploinky-router';
  /** `agent:<namespace>/<name>`. */
  readonly aud: string;
  /** Id of the user, or empty. */
  readonly sub: string;
  /** `router:first-party` or the principal of the agent that delegated. */
  readonly caller: string;
  readonly tool: string;
  readonly scope: readonly string[];
  /** Body hash, see binding.ts. */
  readonly bh: string;
  readonly usr: WireUser | null;
  /** 16 random bytes in base64url. */
  readonly jti: string;
  /** Seconds since the epoch, as `exp`. */
  readonly iat: number;
  readonly exp: number;
  /** Milliseconds within the second of `iat`, so that a restarted verifier need not refuse a whole second. */
  readonly ims: number;
  /** uid of the workload instance that the token is for. */
  readonly wl: string;
  /** How many delegations led here. */
  readonly hop: number;
  /** What the person's token or key is limited to; absent: nothing. Delegated calls are bound by it. */
  readonly lim?: readonly string[];
  /** Tools to which an agent that delegated has narrowed what is done for it, each a name or `prefix*`; absent: nothing. */
  readonly tls?: readonly string[];
  /** The agents that delegated, the last one first (RFC 8693, `act`); absent: none did. */
  readonly act?: Actor;
  readonly mcp?: McpContext;
  /** Router's proof that it minted these claims itself; agents hold the signing key, but not this one. */
  readonly del?: string;
}

/** Every scope that agents written for Ploinky look for. */
export const defaultScope: readonly string[] = [
  'secret:read',
  'secret:write',
  'secret:access',
  'secret:grant',
  'secret:revoke',
];

/** Checks the shape of claims; throws InvocationRejected. Does NOT judge their values. */
export function readClaims(value: Record<string, unknown>): InvocationClaims {
  const ok =
    value['typ'] === 'invocation' &&
    value['iss'] === 'ploinky-router' &&
    textFields.every((name) => typeof value[name] === 'string') &&
    countFields.every((name) => Number.isSafeInteger(value[name])) &&
    isStringArray(value['scope']) &&
    (value['usr'] === null || isUser(value['usr'])) &&
    (value['lim'] === undefined || isStringArray(value['lim'])) &&
    (value['tls'] === undefined || isStringArray(value['tls'])) &&
    (value['act'] === undefined || isActor(value['act'])) &&
    (value['mcp'] === undefined || isMcpContext(value['mcp'])) &&
    (value['del'] === undefined || typeof value['del'] === 'string');
  if (!ok) throw new InvocationRejected('jwtVerify: malformed claims');
  return value as unknown as InvocationClaims;
}

const textFields = ['aud', 'sub', 'caller', 'tool', 'bh', 'jti', 'wl'];
const countFields = ['iat', 'exp', 'ims', 'hop'];

function isUser(value: unknown): boolean {
  if (!isObject(value)) return false;
  const texts = ['sub', 'id', 'email', 'username'].every((name) => typeof value[name] === 'string');
  const realm = value['realm'];
  return texts && isStringArray(value['roles']) && (realm === undefined || typeof realm === 'string');
}

function isActor(value: unknown): boolean {
  if (!isObject(value) || typeof value['sub'] !== 'string') return false;
  return value['act'] === undefined || isActor(value['act']);
}

function isMcpContext(value: unknown): boolean {
  if (!isObject(value) || typeof value['revision'] !== 'string') return false;
  const session = value['session'];
  const capabilities = value['capabilities'];
  return (
    (session === undefined || typeof session === 'string') &&
    (capabilities === undefined || isObject(capabilities))
  );
}

function isStringArray(value: unknown): boolean {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}
