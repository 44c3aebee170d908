import { createSecretKey, hkdfSync, type KeyObject } from 'node:crypto';
import type { Secret } from '#api/meta.ts';
import { sha256Hex } from '#kit/digest.ts';
import { messageOf } from '#kit/errors.ts';
import type { Log } from '#kit/log.ts';
import { WireError } from './errors.ts';

/** The workspace's root key. Everything else is derived from it; it never leaves controller, router and egress. */
export interface MasterKey {
  readonly kid: string;
  readonly secret: Buffer;
}

/** The three things that name an agent for good: a re-created Agent has another uid and so another key. */
export interface AgentIdentity {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

export interface WireKey {
  /** First 8 hex digits of SHA-256 of the secret. */
  readonly kid: string;
  readonly secret: Buffer;
}

export const masterSecretName = 'ploinky-master';
const keyBytes = 32;

/**
 * Master keys of Secret `ploinky-master`: `current` first, then `previous` while a rotation runs.
 * Throws InvalidMasterKey when `current` is absent or either is not 32 bytes of base64: there is no default key.
 */
export function masterKeysFromSecret(secret: Secret): MasterKey[] {
  const current = secret.data?.['current'];
  if (current === undefined) throw invalidMaster('key "current" is absent');
  const previous = secret.data?.['previous'];
  const keys = [decodeMaster('current', current)];
  if (previous !== undefined && previous !== '') keys.push(decodeMaster('previous', previous));
  return keys;
}

/** As `masterKeysFromSecret`, but a Secret that cannot be read changes nothing: what goes on goes on with `before`. */
export function nextMasterKeys(secret: Secret, before: readonly MasterKey[], log: Log): readonly MasterKey[] {
  try {
    return masterKeysFromSecret(secret);
  } catch (error) {
    log.error('the master key cannot be read', { error: messageOf(error) });
    return before;
  }
}

function decodeMaster(field: string, value: string): MasterKey {
  const secret = Buffer.from(value, 'base64');
  if (secret.length !== keyBytes) throw invalidMaster(`key "${field}" must be ${keyBytes} bytes in base64`);
  if (secret.every((byte) => byte === secret[0])) throw invalidMaster(`key "${field}" is not random`);
  return { kid: kidOf(secret), secret };
}

function invalidMaster(problem: string): WireError {
  const remedy = `Delete Secret ${masterSecretName}: the controller makes a new one.`;
  return new WireError('InvalidMasterKey', `Secret ${masterSecretName}: ${problem}`, { remedy });
}

/** The key that signs and verifies one agent's invocation tokens and answers the challenge for it. */
export function deriveAgentKey(master: MasterKey, agent: AgentIdentity): WireKey {
  return derive(master, `ploinky/agent/${identityPath(agent)}/v1`);
}

/** A key for one purpose of the router's own, known to no agent. */
export function deriveSubkey(
  master: MasterKey,
  purpose: 'session-seal' | 'cursor-seal' | 'delegation' | (string & {}),
): WireKey {
  if (!/^[a-z][a-z0-9-]*$/.test(purpose) || purpose === 'agent' || purpose === 'egress') {
    throw new WireError('InvalidIdentity', `"${purpose}" is no key purpose`);
  }
  return derive(master, `ploinky/${purpose}/v1`);
}

/** An agent's credential at the egress proxy, in base64url. The install step's differs from the running agent's. */
export function egressToken(master: MasterKey, agent: AgentIdentity, purpose: 'run' | 'install'): string {
  return derive(master, `ploinky/egress/${purpose}/${identityPath(agent)}/v1`).secret.toString('base64url');
}

/** What tokens call an agent: their audience, and the caller of a delegated call. */
export function principalOf(namespace: string, name: string): string {
  return `agent:${namespace}/${name}`;
}

/** Forgotten with the master key's object, so that none outlives it. */
const derived = new WeakMap<MasterKey, Map<string, WireKey>>();
/** Of one master key: two for each of some thousand agents, 2 MiB at most. The longest unused make room. */
const mostDerived = 8_192;

function derive(master: MasterKey, info: string): WireKey {
  const keys = derived.get(master) ?? new Map<string, WireKey>();
  derived.set(master, keys);
  const known = keys.get(info);
  const key = known ?? deriveAnew(master, info);
  if (known !== undefined) keys.delete(info);
  keys.set(info, key);
  const [oldest] = keys.size > mostDerived ? keys.keys().take(1) : [];
  if (oldest !== undefined) keys.delete(oldest);
  return key;
}

function deriveAnew(master: MasterKey, info: string): WireKey {
  const secret = Buffer.from(hkdfSync('sha256', master.secret, Buffer.alloc(0), info, keyBytes));
  return { kid: kidOf(secret), secret };
}

function kidOf(secret: Buffer): string {
  return sha256Hex(secret).slice(0, 8);
}

/** A "/" inside a part would let `a/b` + `c` and `a` + `b/c` share a key. */
function identityPath(agent: AgentIdentity): string {
  const parts = [agent.namespace, agent.name, agent.uid];
  for (const part of parts) {
    if (part === '' || !/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(part)) {
      throw new WireError('InvalidIdentity', `"${part}" cannot be part of an agent's identity`);
    }
  }
  return parts.join('/');
}

/** Keys by kid, checked once. The first is current. */
export interface KeyRing {
  readonly current: WireKey;
  find(kid: string): WireKey | undefined;
}

/** Throws InvalidKey for an empty ring, more than two keys, a secret under 32 bytes or a kid twice. */
export function createKeyRing(keys: readonly WireKey[]): KeyRing {
  const [current] = keys;
  if (current === undefined || keys.length > 2) {
    throw new WireError('InvalidKey', `a key ring holds one or two keys, not ${keys.length}`);
  }
  const byKid = new Map<string, WireKey>();
  for (const key of keys) {
    if (key.secret.length < keyBytes) throw new WireError('InvalidKey', `key ${key.kid} is under 256 bits`);
    if (byKid.has(key.kid)) throw new WireError('InvalidKey', `key ${key.kid} appears twice`);
    byKid.set(key.kid, key);
  }
  return { current, find: (kid) => byKid.get(kid) };
}

const keyObjects = new WeakMap<WireKey, KeyObject>();

/** The node:crypto form of a key; made once a key because making it costs more than an HMAC. */
export function keyObjectOf(key: WireKey): KeyObject {
  const known = keyObjects.get(key);
  if (known !== undefined) return known;
  const made = createSecretKey(key.secret);
  keyObjects.set(key, made);
  return made;
}
