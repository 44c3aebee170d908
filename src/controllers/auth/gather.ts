import type { Auth } from '#api/agent/auth.ts';
import type { ObjectMeta } from '#api/meta.ts';
import { type AuthReferences, copiedOf } from './references.ts';

/** A Secret may have 1 MiB of decoded values; what does not fit is left out. */
const mostBytes = 1_000_000;

export interface Asking {
  readonly metadata: ObjectMeta;
  readonly spec: { readonly auth: Auth };
}

export interface Gathered {
  /** Of the Secret, in order of its keys. */
  readonly data: Readonly<Record<string, string>>;
  /** `<namespace>/<name>` of every object that was looked for. */
  readonly named: ReadonlySet<string>;
  /** `<namespace>/<name>` of what did not fit. */
  readonly leftOut: readonly string[];
}

interface Sources extends AuthReferences {
  /** Namespaces of which nothing is known now: what is in the Secret of them stays. */
  readonly unread: ReadonlySet<string>;
  readonly current: Readonly<Record<string, string>>;
}

/** Pure. The whole data of Secret `ploinky-auth`. */
export function gatherAuth(asking: readonly Asking[], sources: Sources): Gathered {
  const named = new Set<string>();
  const leftOut: string[] = [];
  const data = new Map<string, string>();
  let bytes = 0;
  for (const { metadata, spec } of asking) {
    const { name, namespace = '' } = metadata;
    const noting = noteNames(sources, named);
    for (const { key, value } of copiedOf({ auth: spec.auth, namespace, name }, noting)) {
      if (data.has(key)) continue;
      const encoded = value === undefined ? undefined : Buffer.from(value).toString('base64');
      const kept = sources.unread.has(namespace) ? sources.current[key] : encoded;
      if (kept === undefined) continue;
      bytes += kept.length * 0.75;
      if (bytes > mostBytes) leftOut.push(`${namespace}/${name}`);
      else data.set(key, kept);
    }
  }
  const sorted = [...data].sort(([left], [right]) => (left < right ? -1 : 1));
  return { data: Object.fromEntries(sorted), named, leftOut };
}

function noteNames(references: AuthReferences, named: Set<string>): AuthReferences {
  const note = (namespace: string, name: string) => named.add(`${namespace}/${name}`);
  return {
    secret(namespace, name) {
      note(namespace, name);
      return references.secret(namespace, name);
    },
    configMap(namespace, name) {
      note(namespace, name);
      return references.configMap(namespace, name);
    },
  };
}
