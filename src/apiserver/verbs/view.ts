import type { Kind } from '../kinds/kind.ts';
import type { ApiObject } from '../object.ts';
import type { Entry } from '../store/history.ts';

/** An object as it is stored, from how a kind shows it. */
export function viewIn(kind: Kind, object: ApiObject): ApiObject {
  return kind.view === undefined ? object : kind.view.fromView(object);
}

/** A stored object as a kind shows it. */
export function viewOut(kind: Kind, object: ApiObject): ApiObject {
  return kind.view === undefined ? object : kind.view.toView(object);
}

const items = new WeakMap<Entry, string>();

/** An entry as an item of a list: the API server leaves the type out of lists of built-in kinds. */
export function itemJson(kind: Kind, entry: Entry): string {
  if (kind.custom) return entry.json;
  if (kind.view !== undefined) return untyped(kind.view.toView(entry.object));
  let json = items.get(entry);
  if (json === undefined) {
    json = untyped(entry.object);
    items.set(entry, json);
  }
  return json;
}

/** An object as an item of a list. */
export function itemOf(kind: Kind, object: ApiObject): string {
  return kind.custom ? JSON.stringify(object) : untyped(object);
}

function untyped(object: ApiObject): string {
  return JSON.stringify({ ...object, apiVersion: undefined, kind: undefined });
}

/** A stored entry's JSON as a kind shows it; the cached text where nothing is converted. */
export function jsonOut(kind: Kind, entry: Entry): string {
  return kind.view === undefined ? entry.json : JSON.stringify(kind.view.toView(entry.object));
}
