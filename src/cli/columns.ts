import type { CoreEvent } from '#api/core-kinds.ts';
import { kinds, type PrinterColumn } from '#api/kinds.ts';
import type { KubeObject, Resource } from '#api/meta.ts';
import { isObject } from '#kit/json.ts';
import { formatAge } from './age.ts';
import { lastSeenOf } from './event-time.ts';
import { valueAtPath } from './json-path.ts';
import { formatTable } from './table.ts';
import { harmless } from './terminal.ts';

export interface ColumnOptions {
  /** Wall clock, for ages. */
  readonly now: number;
  /** Also the columns of priority 1. */
  readonly wide: boolean;
  /** A first column with the namespace. */
  readonly namespaces: boolean;
}

type Column = Pick<PrinterColumn, 'name' | 'type' | 'jsonPath' | 'priority'>;

const age: Column = { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' };
const text = (name: string, jsonPath: string): Column => ({ name, type: 'string', jsonPath });
const eventColumns: readonly Column[] = [
  { name: 'Last seen', type: 'date', jsonPath: '.lastTimestamp' },
  text('Type', '.type'),
  text('Reason', '.reason'),
  text('Object', '.involvedObject.name'),
  text('Message', '.message'),
];
const coreColumns: Readonly<Record<string, readonly Column[]>> = {
  Secret: [text('Type', '.type'), text('Data', '.data'), age],
  ConfigMap: [text('Data', '.data'), age],
  Lease: [text('Holder', '.spec.holderIdentity'), age],
  Namespace: [text('Status', '.status.phase'), age],
};

/** A table of objects of one kind, with the columns of its CRD. Events have no name worth showing. */
export function formatObjects(
  resource: Resource,
  objects: readonly KubeObject[],
  options: ColumnOptions,
): string {
  const columns = columnsOf(resource).filter(({ priority = 0 }) => options.wide || priority === 0);
  const heads = [
    ...(options.namespaces ? ['NAMESPACE'] : []),
    ...(resource.kind === 'Event' ? [] : ['NAME']),
    ...columns.map(({ name }) => name.toUpperCase()),
  ];
  const shown = resource.kind === 'Event' ? objects.map(withLastSeen) : objects;
  const rows = shown.map((object) => [
    ...(options.namespaces ? [object.metadata.namespace ?? ''] : []),
    ...(resource.kind === 'Event' ? [] : [object.metadata.name]),
    ...columns.map((column) => formatCell(valueAtPath(object, column.jsonPath), column, options.now)),
  ]);
  return formatTable(heads, rows);
}

function withLastSeen(object: KubeObject): KubeObject {
  return { ...object, lastTimestamp: lastSeenOf(object as CoreEvent) } as KubeObject;
}

function columnsOf({ kind }: Resource): readonly Column[] {
  if (kind === 'Event') return eventColumns;
  const own = Object.values(kinds).find(({ resource }) => resource.kind === kind);
  return own?.columns ?? coreColumns[kind] ?? [age];
}

function formatCell(value: unknown, column: Column, now: number): string {
  if (column.type === 'date') return formatAge(typeof value === 'string' ? value : undefined, now);
  if (value === undefined || value === null) return '';
  if (Array.isArray(value)) return value.join(',');
  // Secret and ConfigMap data: how many keys, never what they hold.
  if (isObject(value)) return String(Object.keys(value).length);
  return harmless(String(value)).replaceAll('\n', ' ⏎ ');
}
