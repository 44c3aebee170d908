import { isObject } from '#kit/json.ts';

export const conflictKinds = ['tools', 'prompts', 'resources', 'templates'] as const;

/** A name, or URI, that several agents of a Route have; or one agent twice, by a rename. */
export interface NameConflict {
  readonly kind: (typeof conflictKinds)[number];
  readonly name: string;
  readonly agents: readonly string[];
}

/** By `<namespace>/<name>` of the Route. */
export type RouteConflicts = ReadonlyMap<string, readonly NameConflict[]>;

/** Conflicts of one Route that are told; its lists name all of them. */
export const mostConflicts = 20;
const mostAgents = 8;
const mostNameLength = 256;
/** Of all Routes, in an annotation. */
const mostBytes = 16 * 1024;

/** Sorted, each once, and no more than are told. */
export function boundConflicts(conflicts: readonly NameConflict[]): readonly NameConflict[] {
  const byName = new Map<string, NameConflict>();
  for (const { kind, name, agents } of conflicts) {
    const key = `${kind} ${name}`;
    const all = [...new Set([...(byName.get(key)?.agents ?? []), ...agents])].sort();
    byName.set(key, { kind, name: name.slice(0, mostNameLength), agents: all.slice(0, mostAgents) });
  }
  const sorted = [...byName].sort(([left], [right]) => (left < right ? -1 : 1));
  return sorted.slice(0, mostConflicts).map(([, conflict]) => conflict);
}

/** JSON for a router's Lease; Routes that do not fit are left out, the last by name first. */
export function encodeConflicts(byRoute: RouteConflicts): string {
  const told: [string, unknown[]][] = [];
  let size = 2;
  for (const [route, conflicts] of [...byRoute].sort(([left], [right]) => (left < right ? -1 : 1))) {
    const entry: [string, unknown[]] = [
      route,
      boundConflicts(conflicts).map(({ kind, name, agents }) => [kind, name, agents]),
    ];
    size += Buffer.byteLength(JSON.stringify(entry)) + 1;
    if (size > mostBytes) break;
    told.push(entry);
  }
  return told.length === 0 ? '' : JSON.stringify(Object.fromEntries(told));
}

/** The way back; nothing of what cannot be read. */
export function decodeConflicts(text: string | undefined): RouteConflicts {
  const byRoute = new Map<string, readonly NameConflict[]>();
  let value: unknown;
  try {
    value = JSON.parse(text || '{}');
  } catch {
    return byRoute;
  }
  if (!isObject(value)) return byRoute;
  for (const [route, list] of Object.entries(value)) {
    if (Array.isArray(list)) byRoute.set(route, boundConflicts(list.flatMap(readConflict)));
  }
  return byRoute;
}

function readConflict(entry: unknown): NameConflict[] {
  if (!Array.isArray(entry)) return [];
  const [said, name, agents] = entry;
  const kind = conflictKinds.find((known) => known === said);
  if (kind === undefined || typeof name !== 'string' || !Array.isArray(agents)) return [];
  return [{ kind, name, agents: agents.filter((agent) => typeof agent === 'string') }];
}

/** What several routers have seen. */
export function joinConflicts(seen: readonly RouteConflicts[]): RouteConflicts {
  const joined = new Map<string, readonly NameConflict[]>();
  for (const byRoute of seen) {
    for (const [route, conflicts] of byRoute)
      joined.set(route, boundConflicts([...(joined.get(route) ?? []), ...conflicts]));
  }
  return joined;
}
