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

/** A stored entry's JSON as a kind shows it; the cached text where nothing is converted. */
export function jsonOut(kind: Kind, entry: Entry): string {
  return kind.view === undefined ? entry.json : JSON.stringify(kind.view.toView(entry.object));
}
