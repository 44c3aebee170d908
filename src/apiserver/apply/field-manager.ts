import { ApiError } from '../api-error.ts';
import { apiVersionOf, type Kind } from '../kinds/kind.ts';
import { type ApiObject, cloneJson, equalJson, type ManagedFieldsEntry } from '../object.ts';
import { FieldSet, showPath } from './field-set.ts';
import { decodeManagers, encodeManagers, identityOf, type Manager, type Managers } from './managers.ts';
import { mergeConfig, removeFields, withNamedFields } from './merge.ts';
import { type Comparison, compare, fieldsOf } from './walk.ts';

/** Who writes, and when. */
export interface Writer {
  readonly manager: string;
  /** `status`, `scale` or empty. */
  readonly subresource: string;
  readonly time: string;
}

/** Fields that nobody owns: the server writes them, or they name the object. */
const unowned = setOf([
  ['apiVersion'],
  ['kind'],
  ['metadata'],
  ...[
    'name',
    'namespace',
    'creationTimestamp',
    'selfLink',
    'uid',
    'clusterName',
    'generation',
    'managedFields',
    'resourceVersion',
  ].map((field) => ['metadata', field]),
]);

function setOf(paths: readonly (readonly string[])[]): FieldSet {
  const set = new FieldSet();
  for (const path of paths) set.insert(path.map((name) => `f:${name}`));
  return set;
}

/**
 * managedFields after a write that is not an apply: the writer takes what it changed, everyone loses what is gone.
 * `next.metadata.managedFields` says what the client sent: entries of its own replace the stored ones,
 * a single empty entry forgets them all.
 */
export function trackUpdate(
  kind: Kind,
  live: ApiObject | undefined,
  next: ApiObject,
  writer: Writer,
): ManagedFieldsEntry[] {
  const managers = baseManagers(live, next, writer);
  // An object that nobody's fields are noted of stays so until it is applied.
  if (live !== undefined && managers.size === 0) return [];
  const before = withoutManagers(live ?? blank(kind, next));
  const changes = compare(kind.schema, before, withoutManagers(next));
  const taken = changes.modified.union(changes.added);
  for (const [identity, manager] of managers)
    managers.set(identity, { ...manager, set: manager.set.difference(taken).difference(changes.removed) });
  const mine = newManager(kind, writer, 'Update', taken.difference(unowned));
  if (mine.set.isEmpty) return encodeManagers(managers);
  const own = baseManagers(live, next, writer).get(identityOf(mine));
  const set = own === undefined ? mine.set : mine.set.union(own.set.difference(changes.removed));
  managers.set(identityOf(mine), { ...mine, set: set.difference(unowned) });
  return encodeManagers(managers);
}

/** What an object is before anyone says anything. */
function blank(kind: Kind, { apiVersion, kind: name }: ApiObject): ApiObject {
  return { apiVersion, kind: name, metadata: {}, ...kind.strategy.blank };
}

function baseManagers(live: ApiObject | undefined, next: ApiObject, writer: Writer): Managers {
  const stored = decodeManagers(live?.metadata.managedFields ?? []) ?? new Map();
  if (writer.subresource !== '') return stored;
  const sent = next.metadata.managedFields ?? [];
  if (sent.length === 1 && Object.keys(sent[0] ?? {}).length === 0) return new Map();
  const decoded = decodeManagers(sent);
  return decoded === undefined || decoded.size === 0 ? stored : decoded;
}

/**
 * Server-side apply: `live` with the configuration merged in, fields that the manager applied before and no
 * longer names removed where nobody else owns them, and managedFields brought up to date.
 * Throws 409 that lists the other owners of fields the configuration changes, unless `force`.
 */
export function applyConfiguration(
  kind: Kind,
  live: ApiObject | undefined,
  config: ApiObject,
  writer: Writer,
  force: boolean,
): ApiObject {
  const said = withoutManagers(config);
  const own = (set: FieldSet) => writable(kind, writer.subresource, set);
  const stored = live ?? blank(kind, config);
  const before = withoutManagers(stored);
  const managers = managersOf(kind, live, before, writer);
  // Until all is merged, what names the object counts as said: it must not go with what is no longer said.
  const mine = newManager(kind, writer, 'Apply', own(fieldsOf(kind.schema, said)));
  const identity = identityOf(mine);
  const last = managers.get(identity);
  managers.set(identity, mine);
  const merged = mergeConfig(kind.schema, before, said) as ApiObject;
  const pruned = prune(kind, merged, last?.set, managers);
  const { added, modified, removed } = compare(kind.schema, before, pruned);
  const changes = { added: own(added), modified: own(modified), removed: own(removed) };
  const settled = settle(changes, managers, identity, force);
  // Who says what is so already keeps the time of the last change, or has none.
  const time = equalJson(before, pruned) ? (last?.time ?? '') : mine.time;
  settled.set(identity, { ...mine, time, set: mine.set.difference(unowned) });
  const result = cloneJson(pruned);
  result.metadata.managedFields = encodeManagers(settled);
  return result;
}

/** Who owns what before an apply. What nobody is noted to own belongs to a manager of its own from now on. */
function managersOf(kind: Kind, live: ApiObject | undefined, before: ApiObject, writer: Writer): Managers {
  const managers = decodeManagers(live?.metadata.managedFields ?? []) ?? new Map<string, Manager>();
  if (live === undefined || managers.size > 0) return managers;
  const { added, modified } = compare(kind.schema, blank(kind, live), before);
  const set = writable(kind, writer.subresource, added.union(modified).difference(unowned));
  const first = newManager(kind, { ...writer, manager: 'before-first-apply' }, 'Update', set);
  if (!set.isEmpty) managers.set(identityOf(first), first);
  return managers;
}

/** A set without what a write cannot change: the main resource not the status, /status nothing else. */
function writable(kind: Kind, subresource: string, set: FieldSet): FieldSet {
  if (!kind.status) return set;
  return set.without(subresource === 'status' ? ['f:metadata', 'f:spec'] : ['f:status']);
}

/**
 * Removes what the manager applied last time, does not name now, and nobody else owns. First all of the last
 * configuration goes, then what others own comes back, then what only hung below and was never applied.
 */
function prune(
  { schema }: Kind,
  merged: ApiObject,
  last: FieldSet | undefined,
  managers: Managers,
): ApiObject {
  if (last === undefined || last.isEmpty) return merged;
  const named = (set: FieldSet) => withNamedFields(schema, set);
  const without = (set: FieldSet) => (removeFields(schema, merged, set) ?? {}) as ApiObject;
  const before = named(last);
  const all = named(fieldsOf(schema, merged));
  let owned = new FieldSet();
  for (const manager of managers.values()) owned = owned.union(manager.set);
  const bare = named(fieldsOf(schema, without(before)));
  const restored = without(all.difference(bare.union(named(owned))));
  return without(all.difference(named(fieldsOf(schema, restored))).intersection(before));
}

/** Who owns what after the change; conflicts are refused or, by force, taken. */
function settle(changes: Comparison, managers: Managers, applier: string, force: boolean): Managers {
  const touched = changes.modified.union(changes.added);
  const conflicts: { manager: Manager; set: FieldSet }[] = [];
  const settled: Managers = new Map();
  for (const [identity, manager] of managers) {
    const lost = identity === applier ? new FieldSet() : manager.set.intersection(touched);
    if (!lost.isEmpty) conflicts.push({ manager, set: lost });
    settled.set(identity, { ...manager, set: manager.set.difference(lost).difference(changes.removed) });
  }
  if (conflicts.length > 0 && !force) throw applyConflict(conflicts);
  return settled;
}

function applyConflict(conflicts: readonly { manager: Manager; set: FieldSet }[]): ApiError {
  const sorted = conflicts.toSorted((left, right) =>
    showManager(left.manager) < showManager(right.manager) ? -1 : 1,
  );
  const causes = sorted.flatMap(({ manager, set }) =>
    [...set.paths()].map((path) => ({
      reason: 'FieldManagerConflict',
      message: `conflict with ${showManager(manager)}`,
      field: showPath(path),
    })),
  );
  const [only] = causes;
  const list =
    causes.length === 1
      ? `${only?.message}: ${only?.field}`
      : sorted
          .flatMap(({ manager, set }) => [
            `conflicts with ${showManager(manager)}:`,
            ...[...set.paths()].map((path) => `- ${showPath(path)}`),
          ])
          .join('\n');
  const count = `${causes.length} conflict${causes.length === 1 ? '' : 's'}`;
  return new ApiError('Conflict', `Apply failed with ${count}: ${list}`, { causes });
}

function showManager(manager: Manager): string {
  const subresource =
    manager.subresource === '' ? '' : ` with subresource ${JSON.stringify(manager.subresource)}`;
  const version = manager.operation === 'Update' ? ` using ${manager.apiVersion}` : '';
  return `${JSON.stringify(manager.manager)}${subresource}${version}`;
}

function newManager(kind: Kind, writer: Writer, operation: 'Apply' | 'Update', set: FieldSet): Manager {
  return {
    manager: writer.manager,
    operation,
    apiVersion: kind.view === undefined ? apiVersionOf(kind) : 'v1',
    subresource: writer.subresource,
    time: writer.time,
    set,
  };
}

function withoutManagers(object: ApiObject): ApiObject {
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}
