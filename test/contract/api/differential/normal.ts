import { isObject } from '#kit/json.ts';
import type { Outcome, RawAnswer } from './run.ts';

/** What must be the same on both servers: one entry a request, then lists, then watches. */
export interface Normal {
  readonly answers: readonly unknown[];
  readonly events: Readonly<Record<string, readonly unknown[]>>;
}

/**
 * Takes out of an outcome what must differ. Versions become their place among all versions that objects of this
 * sequence had, so that their order still counts; identities are numbered as they come; times are times.
 */
export function normalOf(outcome: Outcome, options: { inOrder: boolean } = { inOrder: true }): Normal {
  const context: Context = {
    namespace: outcome.namespace,
    versions: options.inOrder ? rankVersions(outcome) : undefined,
    identities: new Map(),
  };
  const answers = outcome.answers.map((answer) => normalAnswer(context, answer));
  const events = Object.entries(outcome.events).map(([plural, list]) => {
    const normal = list.map(({ type, object }) => ({ type, object: normalValue(context, object, '') }));
    return [plural, options.inOrder ? normal : byObject(normal)] as const;
  });
  return { answers, events: Object.fromEntries(events) };
}

interface Context {
  readonly namespace: string;
  readonly versions: ReadonlyMap<string, number> | undefined;
  readonly identities: Map<string, number>;
}

/** Events of one object stay in order; those of others may come between. */
function byObject(events: readonly { object: unknown }[]): unknown[] {
  const nameOf = (event: { object: unknown }) =>
    String((event.object as { metadata?: { name?: string } }).metadata?.name);
  return events.toSorted((left, right) => (nameOf(left) < nameOf(right) ? -1 : 1));
}

function normalAnswer(context: Context, { status, warnings, body }: RawAnswer): unknown {
  return { status, warnings: normalText(context, warnings), body: normalValue(context, body, '') };
}

function rankVersions(outcome: Outcome): Map<string, number> {
  const found = new Set<string>();
  for (const { body } of outcome.answers) gather(body, found);
  for (const list of Object.values(outcome.events)) for (const { object } of list) gather(object, found);
  const sorted = [...found].sort((left, right) => Number(left) - Number(right));
  return new Map(sorted.map((version, index) => [version, index + 1]));
}

function gather(value: unknown, found: Set<string>): void {
  if (Array.isArray(value)) for (const item of value) gather(item, found);
  if (!isObject(value)) return;
  const { metadata } = value;
  if (isObject(metadata) && typeof metadata['resourceVersion'] === 'string' && !isList(value))
    found.add(metadata['resourceVersion']);
  for (const member of Object.values(value)) gather(member, found);
}

const isList = (value: Record<string, unknown>) =>
  Array.isArray(value['items']) || Array.isArray(value['rows']) || /List$/.test(String(value['kind']));

function normalValue(context: Context, value: unknown, key: string): unknown {
  if (typeof value === 'string') return normalString(context, value, key);
  if (Array.isArray(value)) {
    const list = value.map((item) => normalValue(context, item, ''));
    if (key === 'managedFields' || key === 'causes') return distinct(list);
    return list;
  }
  if (!isObject(value)) return value;
  if (value['kind'] === 'Status' && value['reason'] === 'BadRequest')
    return { status: 'BadRequest', message: readable(String(value['message'])) };
  const normal = Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((name) => [normalKey(context, name), normalValue(context, value[name], name)]),
  );
  if (isList(value) && isObject(normal['metadata'])) normal['metadata']['resourceVersion'] = '<list>';
  return value['kind'] === 'Status' ? normalStatus(normal) : normal;
}

/** Owners are keys of owned fields. */
function normalKey(context: Context, key: string): string {
  return key.startsWith('k:') ? normalText(context, key) : key;
}

function distinct(list: readonly unknown[]): unknown[] {
  const texts = new Map(list.map((item) => [JSON.stringify(item), item]));
  return [...texts].sort(([left], [right]) => (left < right ? -1 : 1)).map(([, item]) => item);
}

/** What both servers say in the same words of what cannot be read. */
function readable(message: string): string {
  const strict = /strict decoding error: [^"]*"[^"]*"(, \w+ field "[^"]*")*/.exec(message);
  return strict?.[0] ?? '<what cannot be read>';
}

/** Several errors come in no order: their causes say what they are. What cannot be read is told in other words. */
function normalStatus(status: Record<string, unknown>): Record<string, unknown> {
  const { details, message } = status;
  if (typeof message !== 'string') return status;
  const causes = isObject(details) && Array.isArray(details['causes']) ? details['causes'] : [];
  if (causes.some((cause) => isObject(cause) && cause['field'] === 'patch'))
    return { ...status, message: readable(message), details: { ...(details as object), causes: ['patch'] } };
  if (causes.length < 2) return status;
  return { ...status, message: message.replace(/(is invalid|conflicts): [\s\S]*/, '$1: <causes>') };
}

const times = new Set(['creationTimestamp', 'deletionTimestamp', 'time']);

function normalString(context: Context, text: string, key: string): string {
  if (key === 'resourceVersion') {
    if (context.versions === undefined) return '<version>';
    return `<version ${context.versions.get(text) ?? `unknown: ${text}`}>`;
  }
  // Columns of built-in kinds are described in other words.
  if (key === 'description' && !text.startsWith('Custom resource definition column')) return '';
  if (key === 'continue' && text !== '') return '<continue>';
  if (times.has(key) && /^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(text)) return '<time>';
  return normalText(context, text);
}

function normalText(context: Context, text: string): string {
  return text
    .replaceAll(context.namespace, '$ns')
    .replace(/^\d+s$/, '<age>')
    .replace(/StorageError: .* AdditionalErrorMsg: /, '')
    .replace(/(failed to (create typed patch|convert new) object) \([^/;]*(\/[^)]*\)).*/s, '$1 (<ns>$3')
    .replace(/(accessor error: ).*/g, '$1')
    .replace(/(requested object is (a|not a) list) .*/g, '$1')
    .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, (uid) => {
      const number = context.identities.get(uid) ?? context.identities.size + 1;
      context.identities.set(uid, number);
      return `<uid ${number}>`;
    })
    .replace(/(ResourceVersion in (?:the )?\w+ )\((\d+)\)/g, (_, words: string, version: string) => {
      return `${words}(<version ${context.versions?.get(version) ?? ''}>)`;
    });
}
