import { isObject } from '#kit/json.ts';
import { type FieldError, invalidValue } from '../field-error.ts';
import { type ApiObject, cloneJson } from '../object.ts';
import { subdomainProblems } from '../schema/names.ts';
import { objectSchema } from '../schema/object-meta.ts';
import type { Schema } from '../schema/schema.ts';
import { ageOf } from '../table/age.ts';
import type { Kind, Strategy, TableStrategy } from './kind.ts';

const text = (description: string): Schema => ({ type: 'string', description });
const time = (description: string): Schema => ({
  type: 'string',
  format: 'date-time',
  description,
  nullable: true,
});

const objectReference: Schema = {
  type: 'object',
  'x-kubernetes-map-type': 'atomic',
  description: 'An object, by name.',
  properties: {
    apiVersion: text('API version.'),
    fieldPath: text('A part of the object.'),
    kind: text('Kind.'),
    name: text('Name.'),
    namespace: text('Namespace.'),
    resourceVersion: text('Version the reference was made at.'),
    uid: text('UID.'),
  },
};
const series: Schema = {
  type: 'object',
  description: 'The series this event stands for.',
  properties: {
    count: { type: 'integer', format: 'int32', description: 'Occurrences so far.' },
    lastObservedTime: time('The last occurrence.'),
  },
};
const source: Schema = {
  type: 'object',
  description: 'Who reported it (old form).',
  properties: { component: text('Component.'), host: text('Node.') },
};
const count: Schema = { type: 'integer', format: 'int32', description: 'Occurrences (old form).' };
const common: Readonly<Record<string, Schema>> = {
  action: text('What was done or failed.'),
  eventTime: time('When it was first observed.'),
  reason: text('Why, as one word for machines.'),
  related: objectReference,
  reportingInstance: text('Instance of the reporter.'),
  series,
  type: text('Normal or Warning.'),
};

const strategy: Strategy = {
  unconditionalUpdate: true,
  createOnUpdate: true,
  generation: false,
  strategicMerge: true,
  validateName: subdomainProblems,
  blank: { involvedObject: {}, source: {} },
  prepare: prepareEvent,
  validate: validateEvent,
  table: eventTable(),
  fieldSelectors: eventSelectors(),
};

const shared = {
  kind: 'Event',
  listKind: 'EventList',
  plural: 'events',
  singular: 'event',
  shortNames: ['ev'],
  categories: [],
  namespaced: true,
  custom: false,
  status: false,
  columns: [],
  storage: { id: 'events', secret: false },
} as const;

/** core/v1 Event: the form events are stored in. */
export const eventKind: Kind = {
  ...shared,
  group: '',
  version: 'v1',
  schema: objectSchema({
    description: 'Event tells what happened to an object.',
    required: ['metadata', 'involvedObject'],
    properties: {
      ...common,
      count,
      firstTimestamp: time('The first occurrence (old form).'),
      involvedObject: objectReference,
      lastTimestamp: time('The last occurrence (old form).'),
      message: text('What happened, for people.'),
      reportingComponent: text('Name of the reporter.'),
      source,
    },
  }),
  strategy,
};

/** events.k8s.io/v1 Event: the same rows under newer names. */
export const newEventKind: Kind = {
  ...shared,
  group: 'events.k8s.io',
  version: 'v1',
  schema: objectSchema({
    description: 'Event tells what happened to an object.',
    properties: {
      ...common,
      deprecatedCount: count,
      deprecatedFirstTimestamp: time('The first occurrence (old form).'),
      deprecatedLastTimestamp: time('The last occurrence (old form).'),
      deprecatedSource: source,
      note: text('What happened, for people.'),
      regarding: objectReference,
      reportingController: text('Name of the reporter.'),
    },
  }),
  strategy,
  view: {
    toView: (object) => withoutEmpty(rename(object, 'events.k8s.io/v1', toNew)),
    fromView: (object) => rename(object, 'v1', toOld),
  },
};

const toNew: Readonly<Record<string, string>> = {
  involvedObject: 'regarding',
  message: 'note',
  reportingComponent: 'reportingController',
  source: 'deprecatedSource',
  firstTimestamp: 'deprecatedFirstTimestamp',
  lastTimestamp: 'deprecatedLastTimestamp',
  count: 'deprecatedCount',
};
const toOld: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(toNew).map(([a, b]) => [b, a]),
);

function rename(object: ApiObject, apiVersion: string, names: Readonly<Record<string, string>>): ApiObject {
  const renamed: ApiObject = { apiVersion, kind: object.kind, metadata: cloneJson(object.metadata) };
  for (const [key, value] of Object.entries(object))
    if (!['apiVersion', 'kind', 'metadata'].includes(key)) renamed[names[key] ?? key] = cloneJson(value);
  return renamed;
}

function withoutEmpty(object: ApiObject): ApiObject {
  for (const field of ['reportingController', 'reportingInstance'])
    if (object[field] === '') delete object[field];
  return object;
}

/** The API server writes these members even when they are empty. */
function prepareEvent(object: ApiObject): void {
  object['involvedObject'] ??= {};
  object['source'] ??= {};
  object['firstTimestamp'] ??= null;
  object['lastTimestamp'] ??= null;
  object['eventTime'] ??= null;
  object['reportingComponent'] ??= '';
  object['reportingInstance'] ??= '';
}

function validateEvent(object: ApiObject): FieldError[] {
  const involved = isObject(object['involvedObject']) ? object['involvedObject'] : {};
  const namespace = object.metadata.namespace;
  const about = involved['namespace'] ?? '';
  if (about === '' ? namespace === 'default' : about === namespace) return [];
  return [invalidValue('involvedObject.namespace', about, 'does not match event.namespace')];
}

function read(object: ApiObject, ...path: string[]): string {
  let value: unknown = object;
  for (const key of path) value = isObject(value) ? value[key] : undefined;
  return typeof value === 'string' ? value : '';
}

function eventSelectors(): Record<string, (object: ApiObject) => string> {
  const selectors: Record<string, (object: ApiObject) => string> = {
    reason: (object) => read(object, 'reason'),
    type: (object) => read(object, 'type'),
    source: (object) => read(object, 'source', 'component') || read(object, 'reportingComponent'),
    reportingComponent: (object) => read(object, 'reportingComponent'),
    reportingController: (object) => read(object, 'reportingComponent'),
  };
  for (const field of ['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath']) {
    selectors[`involvedObject.${field}`] = (object) => read(object, 'involvedObject', field);
    selectors[`regarding.${field}`] = (object) => read(object, 'involvedObject', field);
  }
  return selectors;
}

function eventTable(): TableStrategy {
  const wide = { type: 'string', priority: 1 };
  return {
    columns: [
      { name: 'Last Seen', type: 'string' },
      { name: 'Type', type: 'string' },
      { name: 'Reason', type: 'string' },
      { name: 'Object', type: 'string' },
      { name: 'Subobject', ...wide },
      { name: 'Source', ...wide },
      { name: 'Message', type: 'string' },
      { name: 'First Seen', ...wide },
      { name: 'Count', ...wide },
      { name: 'Name', ...wide },
    ],
    cells(object, now) {
      const first = object['firstTimestamp'] ?? object['eventTime'];
      const last = isObject(object['series'])
        ? object['series']['lastObservedTime']
        : (object['lastTimestamp'] ?? first);
      const times = isObject(object['series']) ? object['series']['count'] : object['count'];
      return [
        ageOf(last ?? first, now),
        read(object, 'type'),
        read(object, 'reason'),
        `${read(object, 'involvedObject', 'kind').toLowerCase()}/${read(object, 'involvedObject', 'name')}`,
        read(object, 'involvedObject', 'fieldPath'),
        sourceText(object),
        read(object, 'message').trim(),
        ageOf(first, now),
        times ?? 1,
        object.metadata.name,
      ];
    },
  };
}

function sourceText(object: ApiObject): string {
  const component = read(object, 'source', 'component') || read(object, 'reportingComponent');
  const host = read(object, 'source', 'host') || read(object, 'reportingInstance');
  return host === '' ? component : `${component}, ${host}`;
}
