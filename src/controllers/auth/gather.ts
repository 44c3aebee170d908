import type { Auth } from '#api/agent/auth.ts';
import type { ObjectMeta } from '#api/meta.ts';
import { type AuthReferences, copiedOf } from './references.ts';

/**
 * A Secret may have 1 MiB of decoded values; what does not fit is left out. Then every namespace has its share, so that
 * one whose people are many puts no other's out.
 */
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
  const wanted = new Map<string, Wanted>();
  for (const { metadata, spec } of asking) {
    const { name, namespace = '' } = metadata;
    const noting = noteNames(sources, named);
    for (const { key, value } of copiedOf({ auth: spec.auth, namespace, name }, noting)) {
      const encoded = value === undefined ? undefined : Buffer.from(value).toString('base64');
      const kept = sources.unread.has(namespace) ? sources.current[key] : encoded;
      if (kept === undefined || wanted.has(key)) continue;
      wanted.set(key, { key, kept, bytes: kept.length * 0.75, namespace, name });
    }
  }
  const { fitting, leftOut } = share([...wanted.values()]);
  const sorted = fitting.sort(byKey).map(({ key, kept }) => [key, kept]);
  return { data: Object.fromEntries(sorted), named, leftOut };
}

interface Wanted {
  readonly key: string;
  readonly kept: string;
  readonly bytes: number;
  /** Of the first that asks for it. */
  readonly namespace: string;
  readonly name: string;
}

const byKey = (left: Wanted, right: Wanted) => (left.key < right.key ? -1 : 1);

/** Namespaces that need less than their share leave the rest to the others; of one the smallest values go first. */
function share(wanted: readonly Wanted[]): { readonly fitting: Wanted[]; readonly leftOut: string[] } {
  const groups = [...Map.groupBy(wanted, ({ namespace }) => namespace).values()];
  const sized = groups.map((group) => ({ group, bytes: group.reduce((sum, { bytes }) => sum + bytes, 0) }));
  sized.sort((left, right) => left.bytes - right.bytes);
  const fitting: Wanted[] = [];
  const leftOut: string[] = [];
  let left = mostBytes;
  for (const [index, { group }] of sized.entries()) {
    let own = left / (sized.length - index);
    for (const one of group.sort((some, other) => some.bytes - other.bytes || byKey(some, other))) {
      if (one.bytes > own) leftOut.push(`${one.namespace}/${one.name}`);
      else {
        fitting.push(one);
        own -= one.bytes;
        left -= one.bytes;
      }
    }
  }
  return { fitting, leftOut };
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
