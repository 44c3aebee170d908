import type { ApiObject } from '../object.ts';

/** A stored object at one version, with its JSON made at most once. */
export class Entry {
  readonly object: ApiObject;
  readonly version: number;
  #json: string | undefined;

  constructor(object: ApiObject, version: number, json?: string) {
    this.object = object;
    this.version = version;
    this.#json = json;
  }

  /** The object as JSON text. */
  get json(): string {
    this.#json ??= JSON.stringify(this.object);
    return this.#json;
  }
}

/** One acknowledged change of one object. */
export interface Change {
  readonly version: number;
  readonly key: string;
  /** What the key held before; undefined for a creation. */
  readonly before: Entry | undefined;
  /** What the key holds now; undefined for a removal. */
  readonly after: Entry | undefined;
  /** The object that a removal reports: the last state at the removal's version. */
  readonly last: Entry;
}

/**
 * The latest changes of one storage, oldest first: what a watch resumes from and a paged list is rebuilt from.
 * Bounded by count; what falls out can no longer be watched or listed at (410).
 */
export class History {
  readonly #limit: number;
  #changes: Change[] = [];
  #oldest: number;

  /** `start`: the version at which the server started; changes before it are unknown. */
  constructor(limit: number, start: number) {
    this.#limit = limit;
    this.#oldest = start;
  }

  /** Changes after this version are complete. */
  get oldest(): number {
    return this.#oldest;
  }

  add(change: Change): void {
    this.#changes.push(change);
    if (this.#changes.length < this.#limit * 2) return;
    this.compact(this.#changes[this.#changes.length - this.#limit - 1]?.version ?? this.#oldest);
  }

  /** Forgets every change up to and including `version`. */
  compact(version: number): void {
    if (version <= this.#oldest) return;
    this.#changes = this.#changes.slice(this.#firstAfter(version));
    this.#oldest = version;
  }

  /** Changes after `version`, in order, or undefined when some of them are no longer known. */
  since(version: number): readonly Change[] | undefined {
    if (version < this.#oldest) return undefined;
    return this.#changes.slice(this.#firstAfter(version));
  }

  #firstAfter(version: number): number {
    let low = 0;
    let high = this.#changes.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const change = this.#changes[middle];
      if (change !== undefined && change.version <= version) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
