import { digestOf } from '#kit/digest.ts';
import { isObject } from '#kit/json.ts';
import { oncePerObject } from '#kit/memo.ts';
import type { AllowRule } from './access.ts';
import { matchesGlob } from './names-filter.ts';

/** What rules are about. A template of resources counts as a resource. */
export type AllowedKind = 'tools' | 'resources' | 'prompts';

/** What rules look at in somebody who calls. */
export interface Credentials {
  readonly roles: readonly string[];
  /** Undefined: not limited to any. */
  readonly scopes: readonly string[] | undefined;
  readonly claims: Readonly<Record<string, unknown>>;
}

/** What the rules that somebody meets let them use. */
export interface Grant {
  /** The same for grants of the same things. */
  readonly key: string;
  /** No rule is met: nothing can be used. */
  readonly isEmpty: boolean;
  permits(kind: AllowedKind, name: string): boolean;
}

/** The rules of one list. */
export interface Allowance {
  /** Of the rules that the caller meets; the same object for callers who meet the same. */
  grantOf(caller: Credentials): Grant;
  /**
   * The scopes of the rule that would let the caller use it if only their credential had these scopes: of several
   * rules, of that with the fewest missing. Undefined when something else is missing, or nothing.
   */
  scopesFor(caller: Credentials, kind: AllowedKind, name: string): readonly string[] | undefined;
}

/** Pure. A list of rules lets through what one of its rules names, for callers that meet that rule; nothing else. */
export const allowanceOf: (rules: readonly AllowRule[]) => Allowance = oncePerObject((rules) => {
  const grants = new Map<string, Grant>();
  return {
    grantOf(caller) {
      const met = rules.filter((rule) => meetsPerson(rule, caller) && missing(rule, caller).length === 0);
      const mask = met.map((rule) => rules.indexOf(rule)).join();
      const known = grants.get(mask);
      if (known !== undefined) return known;
      if (grants.size >= mostGrants) grants.clear();
      const made = grantBy(met);
      grants.set(mask, made);
      return made;
    },
    scopesFor(caller, kind, name) {
      if (this.grantOf(caller).permits(kind, name)) return undefined;
      const near = rules
        .filter((rule) => meetsPerson(rule, caller) && names(rule, kind, name))
        .sort((left, right) => missing(left, caller).length - missing(right, caller).length);
      return near[0]?.scopes;
    },
  };
});

/** True when the caller may use it by these rules. Undefined rules: everybody everything. */
export function mayUse(
  rules: readonly AllowRule[] | undefined,
  caller: Credentials,
  kind: AllowedKind,
  name: string,
): boolean {
  return rules === undefined || allowanceOf(rules).grantOf(caller).permits(kind, name);
}

/** Combinations of the rules of one list that are kept at once. */
const mostGrants = 256;

function grantBy(met: readonly AllowRule[]): Grant {
  const contents = met.map(({ tools = [], resources = [], prompts = [] }) => ({ tools, resources, prompts }));
  return {
    key: digestOf(contents, 32),
    isEmpty: met.length === 0,
    permits: (kind, name) => met.some((rule) => names(rule, kind, name)),
  };
}

function names(rule: AllowRule, kind: AllowedKind, name: string): boolean {
  const globs = rule[kind];
  if (globs === undefined) return false;
  // What leads elsewhere by the way is no name below `folder/*`.
  const plain = kind !== 'resources' || !climbs(name);
  return globs.some((glob) => (plain || glob === '*' || glob === name) && matchesGlob(name, glob));
}

/** A `..` between slashes, in clear or escaped. */
function climbs(uri: string): boolean {
  return /(?:^|[/\\]|%2f|%5c)(?:\.|%2e){2}(?:$|[/\\?#]|%2f|%5c)/i.test(uri);
}

/** One of the roles, and all of the claims. */
function meetsPerson({ roles, claims }: AllowRule, caller: Credentials): boolean {
  if (roles !== undefined && !roles.some((role) => caller.roles.includes(role))) return false;
  return claims?.every(({ name, values }) => hasClaim(caller.claims, name, values)) ?? true;
}

function missing({ scopes = [] }: AllowRule, caller: Credentials): readonly string[] {
  const had = caller.scopes;
  return had === undefined ? [] : scopes.filter((scope) => !had.includes(scope));
}

/** A claim is a text, number or truth value, or a list of them. `a.b` is also the member `b` of the claim `a`. */
function hasClaim(
  claims: Readonly<Record<string, unknown>>,
  name: string,
  values: readonly string[],
): boolean {
  const value = claimOf(claims, name);
  const had = Array.isArray(value) ? value : [value];
  return had.some((one) => isPlain(one) && values.includes(String(one)));
}

function claimOf(claims: Readonly<Record<string, unknown>>, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  let value: unknown = claims;
  for (const part of name.split('.')) {
    if (!isObject(value) || !Object.hasOwn(value, part)) return undefined;
    value = value[part];
  }
  return value;
}

function isPlain(value: unknown): boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}
