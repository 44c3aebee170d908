import { ascending, percentile } from '../harness/stats.ts';
import { type AuditEntry, countByKind, isWrite } from './audit-log.ts';

const controller = 'ploinky-controller';

/** What the controller wrote between two marks, told apart by what the figures are about. */
export interface Writes {
  /** Secrets, NetworkPolicies, pods, claims, ConfigMaps. */
  readonly children: number;
  readonly status: number;
  readonly events: number;
  /** Everything but Leases. */
  readonly all: number;
  /** Those that the server did not take. */
  readonly refused: Readonly<Record<string, number>>;
  readonly kinds: Readonly<Record<string, number>>;
}

const childKinds = ['secrets', 'networkpolicies', 'pods', 'persistentvolumeclaims', 'configmaps'];

export function writesOf(entries: readonly AuditEntry[]): Writes {
  const written = entries.filter(
    (entry) => entry.agent === controller && isWrite(entry) && entry.resource !== 'leases',
  );
  const count = (...kinds: string[]) => written.filter(({ resource }) => kinds.includes(resource)).length;
  const refused = written.filter(({ code }) => code >= 400);
  return {
    children: count(...childKinds),
    status: count('agents/status', 'routes/status'),
    events: count('events'),
    all: written.length,
    refused: Object.fromEntries(Object.entries(countByKind(refused))),
    kinds: countByKind(written),
  };
}

export interface Delays {
  readonly count: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

/** From the answer to an Agent's creation until the controller's request for its pod reached the server. */
export function podDelays(entries: readonly AuditEntry[], namespace: string): Delays {
  const created = new Map<string, number>();
  for (const entry of entries) {
    if (entry.verb !== 'create' || entry.namespace !== namespace) continue;
    if (entry.resource === 'agents') created.set(entry.name, entry.answered);
  }
  const delays = new Map<string, number>();
  for (const entry of entries) {
    if (entry.agent !== controller || entry.verb !== 'create' || entry.resource !== 'pods') continue;
    if (entry.namespace !== namespace) continue;
    // <agent>-<slot>-<hash>
    const agent = entry.name.split('-').slice(0, -2).join('-');
    const from = created.get(agent);
    if (from !== undefined && !delays.has(agent)) delays.set(agent, entry.received - from);
  }
  const sorted = [...delays.values()].sort(ascending);
  return {
    count: sorted.length,
    p50: percentile(sorted, 0.5),
    p99: percentile(sorted, 0.99),
    max: sorted.at(-1) ?? Number.NaN,
  };
}
