import type { Kind, PrinterColumn } from '../kinds/kind.ts';
import type { ApiObject } from '../object.ts';
import { partialObject } from '../verbs/partial.ts';
import { viewOut } from '../verbs/view.ts';
import { ageOf } from './age.ts';
import { readPath } from './json-path.ts';

type Include = 'None' | 'Metadata' | 'Object';

/** A meta.k8s.io Table of objects, as JSON. */
export function tableJson(
  kind: Kind,
  version: string,
  metadata: Record<string, unknown>,
  objects: readonly ApiObject[],
  now: number,
  include: Include,
  columns = true,
): string {
  return JSON.stringify({
    kind: 'Table',
    apiVersion: `meta.k8s.io/${version}`,
    metadata,
    columnDefinitions: columns ? columnDefinitions(kind) : [],
    rows: objects.map((object) => ({
      cells: cellsOf(kind, object, now),
      ...(include === 'None' ? {} : { object: rowObject(kind, object, version, include) }),
    })),
  });
}

function rowObject(kind: Kind, object: ApiObject, version: string, include: Include): unknown {
  const shown = viewOut(kind, object);
  return include === 'Object' ? shown : partialObject(shown, version);
}

function columnDefinitions(kind: Kind): unknown[] {
  const own: readonly Omit<PrinterColumn, 'jsonPath'>[] = kind.strategy.table?.columns ?? [
    nameColumn,
    ...kind.columns.map(describe),
  ];
  return own.map((column) => ({
    name: column.name,
    type: column.type,
    format: column.format ?? '',
    description: column.description ?? '',
    priority: column.priority ?? 0,
  }));
}

function describe(column: PrinterColumn): PrinterColumn {
  const description = `Custom resource definition column (in JSONPath format): ${column.jsonPath}`;
  return { ...column, description: column.description || description };
}

const nameColumn: Omit<PrinterColumn, 'jsonPath'> = {
  name: 'Name',
  type: 'string',
  format: 'name',
  description:
    'Name must be unique within a namespace. Is required when creating resources, although some resources may allow a client to request the generation of an appropriate name automatically. Name is primarily intended for creation idempotence and configuration definition. Cannot be updated. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names',
};

function cellsOf(kind: Kind, object: ApiObject, now: number): unknown[] {
  const own = kind.strategy.table;
  if (own !== undefined) return own.cells(object, now);
  const cells: unknown[] = [object.metadata.name];
  for (const column of kind.columns) cells.push(cellOf(readPath(object, column.jsonPath), column.type, now));
  return cells;
}

/** A value as a cell of the column's type; null where there is none or the type does not fit. */
function cellOf(values: readonly unknown[], type: string, now: number): unknown {
  const value = values[0];
  if (value === undefined || value === null) return null;
  switch (type) {
    case 'integer':
      return typeof value === 'number' ? Math.trunc(value) : null;
    case 'number':
      return typeof value === 'number' ? value : null;
    case 'boolean':
      return typeof value === 'boolean' ? value : null;
    case 'date':
      return ageOf(value, now);
    default:
      return typeof value === 'string' ? value : JSON.stringify(value);
  }
}
