import type { KubeObject } from '#api/meta.ts';
import type { Clock } from '#kit/clock.ts';
import type { Random } from '#kit/random.ts';
import type { ObjectKey } from './key.ts';

export interface Happening {
  readonly about: KubeObject;
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** One Event object as it has to be written now. */
export interface Occurrence extends Happening, ObjectKey {
  /** 1 means that it has to be created. */
  readonly count: number;
  /** Epoch milliseconds. */
  readonly firstAt: number;
  readonly lastAt: number;
}

export interface CorrelatorLimits {
  /** Objects and Events remembered, least recently used dropped first. Default 4,096. */
  readonly maxRemembered?: number;
  /** Events that differ only in their message before they are combined into one. Default 10. */
  readonly maxSimilar?: number;
  /** Time after which similar Events count anew. Default 600,000 ms. */
  readonly similarWindowMs?: number;
  /** Events about one object at once, and the time in which one more is allowed. Defaults 25 and 300,000 ms. */
  readonly burst?: number;
  readonly refillMs?: number;
}

interface Similar {
  readonly messages: Set<string>;
  readonly since: number;
}

interface Bucket {
  tokens: number;
  at: number;
}

/**
 * Decides what one more happening means: a new Event, a higher count of one that exists, or nothing (undefined)
 * because the object has had too many. The rules and defaults are client-go's.
 */
export function createEventCorrelator(clock: Clock, random: Random, limits: CorrelatorLimits = {}) {
  const { maxRemembered = 4_096, maxSimilar = 10, similarWindowMs = 600_000 } = limits;
  const { burst = 25, refillMs = 300_000 } = limits;
  const known = new Map<string, Occurrence>();
  const similar = new Map<string, Similar>();
  const buckets = new Map<string, Bucket>();

  function takeToken(object: string): boolean {
    const now = clock.monotonic();
    const bucket = buckets.get(object) ?? { tokens: burst, at: now };
    bucket.tokens = Math.min(burst, bucket.tokens + (now - bucket.at) / refillMs);
    bucket.at = now;
    remember(buckets, object, bucket, maxRemembered);
    if (bucket.tokens < 1) return false;
    bucket.tokens -= 1;
    return true;
  }

  function combine(group: string, happening: Happening): Happening {
    const now = clock.monotonic();
    let entry = similar.get(group);
    if (entry === undefined || now - entry.since > similarWindowMs)
      entry = { messages: new Set(), since: now };
    remember(similar, group, entry, maxRemembered);
    if (entry.messages.size < maxSimilar || entry.messages.has(happening.message)) {
      entry.messages.add(happening.message);
      return happening;
    }
    return { ...happening, message: `(combined from similar events): ${happening.message}` };
  }

  return {
    correlate(happening: Happening): Occurrence | undefined {
      const { about, type, reason } = happening;
      const object = `${about.kind}/${about.metadata.namespace ?? ''}/${about.metadata.name}/${about.metadata.uid ?? ''}`;
      if (!takeToken(object)) return undefined;
      const group = `${object}/${type}/${reason}`;
      const combined = combine(group, happening);
      const isCombined = combined !== happening;
      const identity = isCombined ? group : `${group}/${happening.message}`;
      const before = known.get(identity);
      const now = clock.now();
      const occurrence: Occurrence = {
        ...combined,
        namespace: about.metadata.namespace ?? 'default',
        name: before?.name ?? eventName(about.metadata.name, random),
        count: (before?.count ?? 0) + 1,
        firstAt: before?.firstAt ?? now,
        lastAt: now,
      };
      remember(known, identity, occurrence, maxRemembered);
      return occurrence;
    },
  };
}

/** `<object>.<16 hex digits>`, within the 253 characters of a name. */
function eventName(object: string, random: Random): string {
  return `${object.slice(0, 236)}.${random.bytes(8).toString('hex')}`;
}

function remember<V>(map: Map<string, V>, key: string, value: V, limit: number): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= limit) return;
  const [oldest] = map.keys();
  if (oldest !== undefined) map.delete(oldest);
}
