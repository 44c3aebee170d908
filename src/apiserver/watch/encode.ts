import { apiVersionOf, type Kind } from '../kinds/kind.ts';
import type { ApiObject } from '../object.ts';
import type { Entry } from '../store/history.ts';
import { partialJson } from '../verbs/partial.ts';
import type { EventEncoder, EventType } from './hub.ts';

let cache = new Map<Entry, Map<string, string>>();

/** Events as plain objects. A line is made once for all watchers of the same kind that a change reaches. */
export function jsonEncoder(kind: Kind): EventEncoder {
  return {
    line: (type, entry) =>
      cachedLine(`${apiVersionOf(kind)} ${type}`, entry, () => objectLine(kind, type, entry)),
    bookmark: (version, end) => bookmarkLine(kind, version, end),
  };
}

function objectLine(kind: Kind, type: EventType, entry: Entry): string {
  const json = kind.view === undefined ? entry.json : JSON.stringify(kind.view.toView(entry.object));
  return `{"type":"${type}","object":${json}}\n`;
}

/** The line of an entry in one form, made at most once while the present changes are handed out, then forgotten. */
function cachedLine(form: string, entry: Entry, make: () => string): string {
  if (cache.size === 0) setImmediate(forget);
  let lines = cache.get(entry);
  if (lines === undefined) {
    lines = new Map();
    cache.set(entry, lines);
  }
  let line = lines.get(form);
  if (line === undefined) {
    line = make();
    lines.set(form, line);
  }
  return line;
}

function forget(): void {
  cache = new Map();
}

function bookmarkLine(kind: Kind, version: number, initialEventsEnd: boolean): string {
  const object = {
    kind: kind.kind,
    apiVersion: apiVersionOf(kind),
    metadata: {
      resourceVersion: String(version),
      creationTimestamp: null,
      ...(initialEventsEnd ? { annotations: { 'k8s.io/initial-events-end': 'true' } } : {}),
    },
  };
  return `${JSON.stringify({ type: 'BOOKMARK', object })}\n`;
}

/** Events whose objects are metadata alone. */
export function partialEncoder(kind: Kind, version: string): EventEncoder {
  return {
    line: (type, entry) =>
      cachedLine(`${apiVersionOf(kind)} ${type} partial ${version}`, entry, () => {
        const object = kind.view === undefined ? entry.object : kind.view.toView(entry.object);
        return `{"type":"${type}","object":${partialJson(object, version)}}\n`;
      }),
    bookmark: (at, end) => {
      const object = JSON.parse(bookmarkLine(kind, at, end)).object as ApiObject;
      return `{"type":"BOOKMARK","object":${partialJson(object, version)}}\n`;
    },
  };
}
