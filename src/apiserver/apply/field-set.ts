/**
 * A set of field paths, as structured-merge-diff's fieldpath.Set. A path element is written as FieldsV1 writes it:
 * `f:name`, `k:{"type":"Ready"}`, `v:"item"`, `i:0`. A path can be a member with or without its children.
 */
export class FieldSet {
  readonly members = new Set<string>();
  readonly children = new Map<string, FieldSet>();

  get isEmpty(): boolean {
    return this.members.size === 0 && [...this.children.values()].every((child) => child.isEmpty);
  }

  insert(path: readonly string[]): void {
    const [first, ...rest] = path;
    if (first === undefined) return;
    if (rest.length === 0) this.members.add(first);
    else this.child(first).insert(rest);
  }

  has(path: readonly string[]): boolean {
    const [first, ...rest] = path;
    if (first === undefined) return false;
    return rest.length === 0 ? this.members.has(first) : (this.children.get(first)?.has(rest) ?? false);
  }

  /** The set below an element, made when it is missing. */
  child(element: string): FieldSet {
    let child = this.children.get(element);
    if (child === undefined) {
      child = new FieldSet();
      this.children.set(element, child);
    }
    return child;
  }

  union(other: FieldSet): FieldSet {
    const result = new FieldSet();
    for (const one of [this, other]) {
      for (const member of one.members) result.members.add(member);
      for (const [element, child] of one.children) {
        const present = result.children.get(element);
        result.children.set(element, present === undefined ? child : present.union(child));
      }
    }
    return result;
  }

  intersection(other: FieldSet): FieldSet {
    const result = new FieldSet();
    for (const member of this.members) if (other.members.has(member)) result.members.add(member);
    for (const [element, child] of this.children) {
      const match = other.children.get(element);
      if (match !== undefined) result.#keep(element, child.intersection(match));
    }
    return result;
  }

  /** Paths of this set that are not members of `other`; a member of `other` does not take its children along. */
  difference(other: FieldSet): FieldSet {
    const result = new FieldSet();
    for (const member of this.members) if (!other.members.has(member)) result.members.add(member);
    for (const [element, child] of this.children) {
      const match = other.children.get(element);
      result.#keep(element, match === undefined ? child : child.difference(match));
    }
    return result;
  }

  /** The set without these elements of its first level and all that is below them. */
  without(elements: readonly string[]): FieldSet {
    const result = new FieldSet();
    for (const member of this.members) if (!elements.includes(member)) result.members.add(member);
    for (const [element, child] of this.children)
      if (!elements.includes(element)) result.children.set(element, child);
    return result;
  }

  equals(other: FieldSet): boolean {
    return this.difference(other).isEmpty && other.difference(this).isEmpty;
  }

  /** Every member path: at each level the members, then what is below. */
  *paths(prefix: readonly string[] = []): Generator<string[]> {
    for (const member of [...this.members].sort()) yield [...prefix, member];
    for (const [element, child] of [...this.children].sort(([left], [right]) => (left < right ? -1 : 1)))
      yield* child.paths([...prefix, element]);
  }

  #keep(element: string, child: FieldSet): void {
    if (!child.isEmpty) this.children.set(element, child);
  }
}

/** metav1.FieldsV1 of a set. */
export function toFieldsV1(set: FieldSet): Record<string, unknown> {
  const fields: Record<string, unknown> = {};
  for (const element of [...new Set([...set.members, ...set.children.keys()])].sort()) {
    const child = set.children.get(element);
    const below = child === undefined ? {} : toFieldsV1(child);
    const marked = set.members.has(element) && Object.keys(below).length > 0;
    fields[element] = marked ? { '.': {}, ...below } : below;
  }
  return fields;
}

/** The set that FieldsV1 describe. Elements of an unknown form are left out. */
export function fromFieldsV1(fields: Readonly<Record<string, unknown>>): FieldSet {
  const set = new FieldSet();
  for (const [element, below] of Object.entries(fields)) {
    if (!/^[fkvi]:/.test(element) || typeof below !== 'object' || below === null) continue;
    const members = below as Record<string, unknown>;
    const own = Object.keys(members).length === 0 || Object.hasOwn(members, '.');
    if (own) set.members.add(element);
    const child = fromFieldsV1(members);
    if (!child.isEmpty) set.children.set(element, child);
  }
  return set;
}

/** A path for people: `.spec.conditions[type="Ready"].status`. */
export function showPath(path: readonly string[]): string {
  return path.map(showElement).join('');
}

function showElement(element: string): string {
  const text = element.slice(2);
  if (element.startsWith('f:')) return `.${text}`;
  if (element.startsWith('v:')) return `[=${text}]`;
  if (element.startsWith('i:')) return `[${text}]`;
  const keys = Object.entries(JSON.parse(text) as Record<string, unknown>);
  return `[${keys.map(([key, value]) => `${key}=${JSON.stringify(value)}`).join(',')}]`;
}
