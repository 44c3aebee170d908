import { timingSafeEqual } from 'node:crypto';
import type { EgressRule } from '#api/egress.ts';
import { EgressRefusal } from './errors.ts';

/** A workload that proved who it is, and what it may reach. */
export interface Caller {
  readonly namespace: string;
  readonly name: string;
  readonly purpose: 'run' | 'install';
  readonly rules: readonly EgressRule[];
}

/** A Caller with the token that proves it. */
export interface CallerCredential extends Caller {
  readonly token: string;
}

/** What is known now of the Agent `namespace/name`: a credential per purpose and valid key; none: there is no such Agent. */
export type CallerLookup = (namespace: string, name: string) => readonly CallerCredential[];

/**
 * The caller that a `Proxy-Authorization: Basic base64(<namespace>/<name>:<token>)` header names.
 * Throws EgressRefusal `Unauthenticated` without saying which part was wrong.
 */
export function authenticate(header: string | undefined, lookup: CallerLookup): Caller {
  const claimed = parseBasic(header);
  if (claimed !== undefined) {
    for (const { token, ...caller } of lookup(claimed.namespace, claimed.name)) {
      if (isSame(token, claimed.token)) return caller;
    }
  }
  throw new EgressRefusal(
    'Unauthenticated',
    'the egress proxy serves agents of this workspace only; their agent-server adds the credential by itself',
  );
}

function parseBasic(header: string | undefined) {
  const encoded = /^basic +([A-Za-z0-9+/_=-]+) *$/i.exec(header ?? '')?.[1];
  if (encoded === undefined) return undefined;
  const text = Buffer.from(encoded, 'base64').toString('utf8');
  const [, namespace, name, token] = /^([^/:]+)\/([^/:]+):(.+)$/.exec(text) ?? [];
  if (namespace === undefined || name === undefined || token === undefined) return undefined;
  return { namespace, name, token };
}

function isSame(expected: string, given: string): boolean {
  const left = Buffer.from(expected);
  const right = Buffer.from(given);
  return left.length === right.length && timingSafeEqual(left, right);
}
