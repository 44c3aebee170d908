import type { Clock } from '#kit/clock.ts';
import { apiVersionOf, type Kind } from '../kinds/kind.ts';
import type { EventEncoder } from '../watch/hub.ts';
import { tableJson } from './table.ts';

/**
 * Events whose objects are Tables of one row. Only the first event of a watch carries the column definitions,
 * as the API server does it, so these lines are not shared.
 */
export function tableEncoder(
  kind: Kind,
  version: string,
  clock: Clock,
  include: 'None' | 'Metadata' | 'Object',
): EventEncoder {
  let columns = true;
  return {
    line(type, entry) {
      const metadata = { resourceVersion: String(entry.version) };
      const json = tableJson(kind, version, metadata, [entry.object], clock.now(), include, columns);
      columns = false;
      return `{"type":"${type}","object":${json}}\n`;
    },
    bookmark(at, end) {
      const object = {
        kind: kind.kind,
        apiVersion: apiVersionOf(kind),
        metadata: {
          resourceVersion: String(at),
          ...(end ? { annotations: { 'k8s.io/initial-events-end': 'true' } } : {}),
        },
      };
      const json = tableJson(kind, version, object.metadata, [], clock.now(), include, columns);
      columns = false;
      return `{"type":"BOOKMARK","object":${json}}\n`;
    },
  };
}
