import type { Surface } from './surface.ts';
import { areSameVerdicts, type Verdict } from './verdict.ts';

/** A Route that wants its surfaces' places. */
export interface Claimant {
  readonly name: string;
  /** Sorts before that of every younger one; no two are the same. */
  readonly age: string;
  readonly surfaces: readonly Surface[];
  /** `surfaceKey` of each surface. */
  readonly keys: readonly string[];
  /** Why it is not served whatever the others do. */
  readonly refusal: Verdict | undefined;
}

/** Who gets which place: the oldest, and a claimant gets all of its places or none. */
export interface Claims {
  /** Instead of an earlier one of the same name. */
  put(claimant: Claimant): void;
  remove(name: string): void;
  /** Judges whom the changes concern. Returns the names of those who were judged. */
  settle(): ReadonlySet<string>;
  /** As of the last `settle`. */
  verdict(name: string): Verdict | undefined;
  isTaken(key: string): boolean;
}

interface Standing {
  readonly claimant: Claimant;
  verdict: Verdict | undefined;
}
interface Holders {
  readonly all: Set<Standing>;
  readonly served: Set<Standing>;
}

export function createClaims(): Claims {
  return new PlaceClaims();
}

class PlaceClaims implements Claims {
  readonly #standings = new Map<string, Standing>();
  readonly #holders = new Map<string, Holders>();
  /** Those to be judged. */
  readonly #open = new Set<Standing>();
  #judged = new Set<string>();

  put(claimant: Claimant): void {
    this.remove(claimant.name);
    const standing: Standing = { claimant, verdict: claimant.refusal };
    this.#standings.set(claimant.name, standing);
    this.#judged.add(claimant.name);
    if (claimant.refusal !== undefined) return;
    this.#open.add(standing);
    for (const key of claimant.keys) {
      const holders = this.#holders.get(key) ?? { all: new Set(), served: new Set() };
      holders.all.add(standing);
      this.#holders.set(key, holders);
    }
  }

  remove(name: string): void {
    const standing = this.#standings.get(name);
    if (standing === undefined) return;
    this.#standings.delete(name);
    this.#open.delete(standing);
    this.#judged.delete(name);
    for (const key of standing.claimant.keys) {
      const holders = this.#holders.get(key);
      if (!holders?.all.delete(standing)) continue;
      if (holders.served.delete(standing)) this.#reopenYounger(holders, standing);
      if (holders.all.size === 0) this.#holders.delete(key);
    }
  }

  /**
   * Whether one is served depends on older ones only. So judging again whoever is younger than one that changed
   * comes to an end, and to the same one in whatever order the claimants came.
   */
  settle(): ReadonlySet<string> {
    while (this.#open.size > 0) {
      for (const standing of [...this.#open].sort(byAge)) {
        this.#open.delete(standing);
        this.#judge(standing);
      }
    }
    const judged = this.#judged;
    this.#judged = new Set();
    return judged;
  }

  verdict(name: string): Verdict | undefined {
    return this.#standings.get(name)?.verdict;
  }

  isTaken(key: string): boolean {
    return (this.#holders.get(key)?.served.size ?? 0) > 0;
  }

  #judge(standing: Standing): void {
    const verdict = this.#conflictOf(standing) ?? accepted;
    const before = standing.verdict;
    if (before !== undefined && areSameVerdicts(before, verdict)) return;
    standing.verdict = verdict;
    this.#judged.add(standing.claimant.name);
    if ((before?.ok ?? false) === verdict.ok) return;
    for (const key of standing.claimant.keys) {
      const holders = this.#holders.get(key);
      if (holders === undefined) continue;
      if (verdict.ok) holders.served.add(standing);
      else holders.served.delete(standing);
      this.#reopenYounger(holders, standing);
    }
  }

  #conflictOf(standing: Standing): Verdict | undefined {
    const { surfaces, keys } = standing.claimant;
    for (const [index, { place }] of surfaces.entries()) {
      const served = this.#holders.get(keys[index] ?? '')?.served ?? [];
      const owner = [...served].sort(byAge).find((other) => byAge(other, standing) < 0);
      if (owner === undefined) continue;
      const message = `Route ${owner.claimant.name} is older and has ${place.path} on host "${place.host}". Choose another path or host.`;
      return { ok: false, reason: 'Conflict', message };
    }
    return undefined;
  }

  #reopenYounger({ all }: Holders, standing: Standing): void {
    for (const other of all) if (byAge(standing, other) < 0) this.#open.add(other);
  }
}

const accepted: Verdict = { ok: true, reason: 'Accepted', message: 'The Route is served.' };

function byAge(left: Standing, right: Standing): number {
  if (left === right) return 0;
  return left.claimant.age < right.claimant.age ? -1 : 1;
}
