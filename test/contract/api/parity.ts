import assert from 'node:assert/strict';
import { test } from 'node:test';
import { widget } from './fixtures/widget.ts';
import type { Server } from './servers.ts';
import { applyType, core, createBench, jsonPatchType, mergeType, strategicType, widgets } from './suite.ts';

/** One request; `$ns` in path and body stands for the test's namespace. */
interface Step {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const w = (name = '', query = '') => widgets('$ns', name, query);
const post = (name: string, body: unknown, query = ''): Step => ({
  name,
  method: 'POST',
  path: w('', query),
  body,
});
const patch = (name: string, path: string, body: unknown, type = mergeType): Step => ({
  name,
  method: 'PATCH',
  path,
  body,
  type,
});
const apply = (name: string, manager: string, body: Record<string, unknown>, query = ''): Step =>
  patch(
    name,
    w((body['metadata'] as { name: string }).name, `?fieldManager=${manager}${query}`),
    body,
    applyType,
  );
const get = (name: string, path: string, headers: Record<string, string> = {}): Step => ({
  name,
  method: 'GET',
  path,
  headers,
});
const table = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' };
const partial = { accept: 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io' };
const bad = (name: string, spec: Record<string, unknown>) => post(`refuses ${name}`, widget('bad', spec));

/** Run in order in one namespace on both servers; each answer must be the same but for names, times and versions. */
const steps: Step[] = [
  post(
    'creates with defaults',
    widget('a', {
      size: 3,
      parts: [{ name: 'x', count: 1, unit: 'kg' }],
      tags: ['t1'],
      free: { any: [1, { b: null }] },
    }),
  ),
  post('refuses a second of the name', widget('a')),
  post('warns of unknown fields', widget('warned', { nope: 1, parts: [{ name: 'x', extra: true }] })),
  post(
    'refuses unknown fields when strict',
    widget('strict', { nope: 1, nested: { deep: { leaf: 'x', more: 1 } } }),
    '?fieldValidation=Strict',
  ),
  post('drops unknown fields when ignoring', widget('ignored', { nope: 1 }), '?fieldValidation=Ignore'),
  post('refuses a bad fieldValidation', widget('x1'), '?fieldValidation=Bogus'),
  post('refuses a bad dryRun', widget('x1'), '?dryRun=Some'),
  post('dry-runs a creation', widget('dry'), '?dryRun=All'),
  get('has not made it', w('dry')),
  post('refuses a bad name', widget('Bad_Name')),
  post('refuses no name', { apiVersion: 'contract.ploinky.dev/v1', kind: 'Widget', spec: {} }),
  post('refuses another kind', { ...widget('x2'), kind: 'Gadget' }),
  post('refuses another version', { ...widget('x2'), apiVersion: 'contract.ploinky.dev/v9' }),
  post('refuses a resourceVersion on creation', widget('x3', {}, { resourceVersion: '5' })),
  post('refuses another namespace', widget('x4', {}, { namespace: 'elsewhere' })),
  post('refuses bad labels', widget('x5', {}, { labels: { 'a b': 'c' } })),
  post('refuses bad annotations', widget('x5', {}, { annotations: { 'a b': 'c' } })),
  post(
    'refuses bad owners',
    widget('x5', {}, { ownerReferences: [{ apiVersion: 'v1', kind: 'Secret', name: '', uid: '' }] }),
  ),
  post('refuses a label that is no string', widget('x5', {}, { labels: { a: 5 } })),
  bad('a string for an integer', { size: 'big' }),
  bad('a fraction for an integer', { size: 1.5 }),
  bad('a number too large', { size: 11 }),
  bad('a number too small', { size: -1 }),
  bad('a value outside the enum', { mode: 'ajar' }),
  bad('a text too short', { key: 'a' }),
  bad('a text too long', { key: 'abcdefghij' }),
  bad('a text that does not match', { key: 'ABC' }),
  bad('a text for a boolean', { on: 'yes' }),
  bad('a time that is none', { when: 'yesterday' }),
  bad('a boolean for int-or-string', { port: true }),
  bad('too many parts', { parts: [1, 2, 3, 4, 5].map((n) => ({ name: `p${n}` })) }),
  bad('two parts of one name', { parts: [{ name: 'p' }, { name: 'p' }] }),
  bad('two equal tags', { tags: ['a', 'a'] }),
  bad('a part without a name', { parts: [{ count: 1, unit: 'kg' }] }),
  bad('a rule on an item', { parts: [{ name: 'p', count: 1 }] }),
  bad('too many options', { options: { a: '1', b: '2', c: '3', d: '4', e: '5' } }),
  bad('an option too long', { options: { a: 'abcdef' } }),
  bad('an option of another type', { options: { a: 5 } }),
  bad('a missing member below', { nested: {} }),
  bad('a cross-field rule', { low: 5, high: 1 }),
  bad('a rule with a fieldPath', { mode: 'locked' }),
  bad('a list for an object', { nested: [] }),
  bad('an object for a list', { parts: {} }),
  bad('null in a list', { steps: [null] }),
  bad('several at once', { size: 'big', key: 'A', mode: 'ajar' }),
  post('refuses a spec of another type', { ...widget('bad'), spec: 'text' }),
  post('drops nulls', widget('nulls', { key: null, size: null, maybe: null, nested: null })),
  get('gets', w('a')),
  get('gets a table', w('a'), table),
  get('gets metadata alone', w('a'), partial),
  get('misses one that is not there', w('none')),
  get('lists a table', w('', '?labelSelector=none%3Dx'), table),
  get('refuses a bad label selector', w('', '?labelSelector=a%20b%20c')),
  get('refuses an unknown field selector', w('', '?fieldSelector=spec.size%3D1')),
  get('selects by name', w('', '?fieldSelector=metadata.name%3Da')),
  { name: 'updates need a version', method: 'PUT', path: w('a'), body: widget('a', { size: 4 }) },
  {
    name: 'refuses a stale version',
    method: 'PUT',
    path: w('a'),
    body: widget('a', { size: 4 }, { resourceVersion: '1' }),
  },
  {
    name: 'refuses another name',
    method: 'PUT',
    path: w('a'),
    body: widget('b', {}, { resourceVersion: '1' }),
  },
  { name: 'does not create by PUT', method: 'PUT', path: w('none'), body: widget('none') },
  patch('merges', w('a'), { spec: { size: 5, tags: null, options: { k: 'v' } } }),
  patch('merges the same again', w('a'), { spec: { size: 5 } }),
  patch('refuses to merge what is wrong', w('a'), { spec: { size: 50 } }),
  patch('warns of unknown fields in a merge', w('a'), { spec: { nope: 1 } }),
  patch('refuses unknown fields in a merge when strict', w('a', '?fieldValidation=Strict'), {
    spec: { nope: 1 },
  }),
  patch('refuses a merge of another version', w('a'), {
    metadata: { resourceVersion: '1' },
    spec: { size: 2 },
  }),
  patch('refuses to rename', w('a'), { metadata: { name: 'b' } }),
  patch('refuses to change the uid', w('a'), { metadata: { uid: 'other' } }),
  patch(
    'patches by operations',
    w('a'),
    [
      { op: 'test', path: '/spec/size', value: 5 },
      { op: 'add', path: '/spec/tags', value: ['n'] },
    ],
    jsonPatchType,
  ),
  patch('refuses a failed test', w('a'), [{ op: 'test', path: '/spec/size', value: 99 }], jsonPatchType),
  patch('refuses to remove what is not there', w('a'), [{ op: 'remove', path: '/spec/none' }], jsonPatchType),
  patch('refuses a patch that is no list', w('a'), { op: 'add' }, jsonPatchType),
  patch('has no strategic merge for own kinds', w('a'), { spec: { size: 2 } }, strategicType),
  patch('misses what it should patch', w('none'), { spec: {} }),
  patch('sets a text that must stay', w('a'), { spec: { fixed: 'one' } }),
  patch('keeps a text that must stay', w('a'), { spec: { fixed: 'two' } }),
  patch('writes the status alone', w('a/status'), { status: { phase: 'Up' } }),
  patch('writes /status', w('a/status'), {
    status: { phase: 'Up', conditions: [{ type: 'Ready', status: 'True' }] },
    spec: { size: 9 },
    metadata: { labels: { l: 'v' } },
  }),
  patch('refuses a wrong status', w('a/status'), { status: { phase: 5 } }),
  patch('keeps the status from the main resource', w('a'), { status: { phase: 'Down' }, spec: { size: 6 } }),
  get('gets the status', w('a/status')),
  get('shows conditions in a table', w('a'), table),
  get('gets the scale', w('a/scale')),
  patch('scales', w('a/scale'), { spec: { replicas: 3 } }),
  patch('refuses a negative scale', w('a/scale'), { spec: { replicas: -1 } }),
  apply(
    'applies a new one',
    'one',
    widget('s', { size: 2, parts: [{ name: 'x' }], options: { a: '1' }, limits: { cpu: '1' } }),
  ),
  apply(
    'applies the same again',
    'one',
    widget('s', { size: 2, parts: [{ name: 'x' }], options: { a: '1' }, limits: { cpu: '1' } }),
  ),
  apply(
    'shares an equal value',
    'two',
    widget('s', { size: 2, parts: [{ name: 'y', count: 2, unit: 'm' }] }),
  ),
  apply('refuses a conflict', 'two', widget('s', { size: 3 })),
  apply(
    'refuses two conflicts',
    'three',
    widget('s', { size: 3, options: { a: '2' }, limits: { cpu: '2' } }),
  ),
  apply('takes by force', 'three', widget('s', { size: 3, options: { a: '2' } }), '&force=true'),
  apply('removes what it no longer says', 'one', widget('s', { parts: [{ name: 'x' }] })),
  apply('removes its last item', 'one', widget('s', {})),
  patch('takes fields by a merge', w('s', '?fieldManager=editor'), {
    spec: { size: 7, tags: ['e'] },
    metadata: { labels: { by: 'editor' } },
  }),
  apply('conflicts with an updater', 'three', widget('s', { size: 8 })),
  patch(
    'applies the status',
    w('s/status', '?fieldManager=ctl'),
    {
      ...widget('s'),
      status: { phase: 'Up', conditions: [{ type: 'Ready', status: 'False', reason: 'Why' }] },
    },
    applyType,
  ),
  patch(
    'applies another condition',
    w('s/status', '?fieldManager=other'),
    { ...widget('s'), spec: { size: 1 }, status: { conditions: [{ type: 'Warm', status: 'True' }] } },
    applyType,
  ),
  patch(
    'refuses a status conflict',
    w('s/status', '?fieldManager=other'),
    { ...widget('s'), status: { phase: 'Down' } },
    applyType,
  ),
  apply('ignores a status applied to the main resource', 'one', {
    ...widget('s', { on: true }),
    status: { phase: 'X' },
  }),
  apply(
    'refuses a stale version even by force',
    'one',
    widget('s', { on: false }, { resourceVersion: '1' }),
    '&force=true',
  ),
  apply(
    'refuses managedFields',
    'one',
    widget(
      's',
      {},
      { managedFields: [{ manager: 'x', operation: 'Apply', apiVersion: 'contract.ploinky.dev/v1' }] },
    ),
  ),
  patch('needs a field manager', w('s'), widget('s'), applyType),
  apply('refuses unknown fields', 'one', widget('s', { nope: 1 })),
  apply('refuses unknown fields when strict', 'one', widget('s', { nope: 1 }), '&fieldValidation=Strict'),
  apply('refuses what is wrong', 'one', widget('s', { size: 'big' })),
  apply('dry-runs', 'one', widget('s', { on: true, replicas: 4 }), '&dryRun=All'),
  patch('misses a status to apply', w('none/status', '?fieldManager=ctl'), widget('none'), applyType),
  get('gets after all that', w('s')),
  {
    name: 'resets owners',
    method: 'PATCH',
    path: w('s'),
    body: { metadata: { managedFields: [{}] } },
    type: mergeType,
  },
  { name: 'deletes', method: 'DELETE', path: w('s') },
  { name: 'deletes no more', method: 'DELETE', path: w('s') },
  post(
    'creates with a finalizer',
    widget('f', {}, { finalizers: ['contract.ploinky.dev/hold'], labels: { group: 'f' } }),
  ),
  post('refuses a bad finalizer', widget('f2', {}, { finalizers: ['a b'] })),
  { name: 'refuses a foreign uid', method: 'DELETE', path: w('f'), body: { preconditions: { uid: 'x' } } },
  { name: 'refuses a bad policy', method: 'DELETE', path: w('f'), body: { propagationPolicy: 'Sideways' } },
  { name: 'marks as deleted', method: 'DELETE', path: w('f') },
  { name: 'marks once', method: 'DELETE', path: w('f') },
  patch('adds no finalizer now', w('f'), {
    metadata: { finalizers: ['contract.ploinky.dev/hold', 'x.y/z'] },
  }),
  patch('changes the rest', w('f'), { spec: { size: 2 } }),
  patch('lets go', w('f'), { metadata: { finalizers: null } }),
  get('is gone', w('f')),
  { name: 'deletes a collection', method: 'DELETE', path: w('', '?labelSelector=nobody%3Dx') },
  { name: 'takes no text', method: 'POST', path: w(), body: 'hello', type: 'text/plain' },
  { name: 'takes no broken JSON', method: 'POST', path: w(), body: '{"a":', type: 'application/json' },
  apply('fills options', 'm', widget('e-options', { options: { x: '1' } })),
  apply('empties options', 'm', widget('e-options', { options: {} })),
  apply('drops options', 'm', widget('e-options', {})),
  get('has options as applied', w('e-options')),
  apply('fills parts', 'm', widget('e-parts', { parts: [{ name: 'p' }] })),
  apply('empties parts', 'm', widget('e-parts', { parts: [] })),
  apply('drops parts', 'm', widget('e-parts', {})),
  get('has parts as applied', w('e-parts')),
  apply('fills tags', 'm', widget('e-tags', { tags: ['a'] })),
  apply('empties tags', 'm', widget('e-tags', { tags: [] })),
  apply('drops tags', 'm', widget('e-tags', {})),
  get('has tags as applied', w('e-tags')),
  apply('fills part', 'm', widget('e-part', { parts: [{ name: 'p', count: 1, unit: 'kg' }] })),
  apply('empties part', 'm', widget('e-part', { parts: [{ name: 'p' }] })),
  apply('drops part', 'm', widget('e-part', {})),
  get('has part as applied', w('e-part')),
  apply('fills nested', 'm', widget('e-nested', { nested: { deep: { leaf: 'x' } } })),
  apply('empties nested', 'm', widget('e-nested', { nested: { deep: {} } })),
  apply('drops nested', 'm', widget('e-nested', {})),
  get('has nested as applied', w('e-nested')),
  apply('fills free', 'm', widget('e-free', { free: { a: { b: 1 } } })),
  apply('empties free', 'm', widget('e-free', { free: { a: {} } })),
  apply('drops free', 'm', widget('e-free', {})),
  get('has free as applied', w('e-free')),
  // Core kinds.
  {
    name: 'creates a secret',
    method: 'POST',
    path: core('$ns', 'secrets'),
    body: {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 's' },
      stringData: { a: 'b' },
      data: { c: 'ZA==' },
    },
  },
  {
    name: 'refuses bad base64',
    method: 'POST',
    path: core('$ns', 'secrets'),
    body: { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'x' }, data: { c: '%%' } },
  },
  {
    name: 'refuses a bad key',
    method: 'POST',
    path: core('$ns', 'secrets'),
    body: { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'x' }, data: { 'a/b': 'ZA==' } },
  },
  {
    name: 'keeps the type of a secret',
    method: 'PATCH',
    path: core('$ns', 'secrets', 's'),
    body: { type: 'other' },
    type: mergeType,
  },
  {
    name: 'merges a secret strategically',
    method: 'PATCH',
    path: core('$ns', 'secrets', 's'),
    body: { data: { a: null, d: 'ZQ==' }, metadata: { labels: { l: 'v' } } },
    type: strategicType,
  },
  get('shows secrets in a table', core('$ns', 'secrets', 's'), table),
  {
    name: 'makes a secret immutable',
    method: 'PATCH',
    path: core('$ns', 'secrets', 's'),
    body: { immutable: true },
    type: mergeType,
  },
  {
    name: 'keeps it',
    method: 'PATCH',
    path: core('$ns', 'secrets', 's'),
    body: { data: { d: 'Zg==' } },
    type: mergeType,
  },
  {
    name: 'creates a config map',
    method: 'POST',
    path: core('$ns', 'configmaps'),
    body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c' }, data: { a: 'b' } },
  },
  {
    name: 'replaces it without a version',
    method: 'PUT',
    path: core('$ns', 'configmaps', 'c'),
    body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c' }, data: { a: 'c' } },
  },
  {
    name: 'applies it',
    method: 'PATCH',
    path: core('$ns', 'configmaps', 'c', '?fieldManager=m&force=true'),
    body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c' }, data: { a: 'd' } },
    type: applyType,
  },
  get('shows config maps in a table', core('$ns', 'configmaps', 'c'), table),
  {
    name: 'refuses unknown fields of core kinds when strict',
    method: 'POST',
    path: core('$ns', 'configmaps', '', '?fieldValidation=Strict'),
    body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c2' }, nope: 1 },
  },
  {
    name: 'creates an event',
    method: 'POST',
    path: core('$ns', 'events'),
    body: {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: 'e', namespace: '$ns' },
      involvedObject: { kind: 'Widget', name: 'a', namespace: '$ns' },
      reason: 'Made',
      message: 'made it',
      type: 'Normal',
      count: 2,
      source: { component: 'test' },
    },
  },
  get(
    'selects events by what they are about',
    core('$ns', 'events', '', '?fieldSelector=involvedObject.name%3Da,involvedObject.kind%3DWidget'),
  ),
  get('shows it in the newer group', '/apis/events.k8s.io/v1/namespaces/$ns/events/e'),
  {
    name: 'creates a lease by PUT',
    method: 'PUT',
    path: '/apis/coordination.k8s.io/v1/namespaces/$ns/leases/l',
    body: {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: 'l' },
      spec: { holderIdentity: 'me', leaseDurationSeconds: 15, renewTime: '2026-01-01T00:00:00.000001Z' },
    },
  },
  {
    name: 'refuses a bad lease',
    method: 'POST',
    path: '/apis/coordination.k8s.io/v1/namespaces/$ns/leases',
    body: {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: 'l2' },
      spec: { leaseDurationSeconds: 0 },
    },
  },
  get('gets the namespace', '/api/v1/namespaces/$ns'),
  { name: 'refuses objects in no namespace', method: 'POST', path: widgets('not-there'), body: widget('x') },
];

/** Their texts may differ (ours names the field more plainly, or the real one repeats itself); code and reason must not. */
const looseNames = new Set([
  'refuses another version',
  'refuses a label that is no string',
  'refuses a fraction for an integer',
  'refuses several at once',
  'refuses a spec of another type',
  'refuses a bad label selector',
  'refuses unknown fields in a merge when strict',
  'refuses a patch that is no list',
  'refuses a wrong status',
  'takes no text',
  'takes no broken JSON',
  'refuses bad base64',
  'refuses what is wrong',
]);

/** Compares two servers answer by answer. */
export function compareAnswers(running: () => readonly Server[]): void {
  test('answers are the same, request by request', { timeout: 120_000 }, async (t) => {
    const servers = running();
    if (servers.length < 2) return t.skip('SKIPPED: needs our server and the real one');
    const spaces = await Promise.all(servers.map((server) => createBench(server).namespace()));
    for (const step of steps) {
      const answers: unknown[] = [];
      for (const [index, server] of servers.entries())
        answers.push(await run(server, step, spaces[index] ?? ''));
      await t.test(step.name, () => assert.deepEqual(answers[0], answers[1]));
    }
  });
}

async function run(server: Server, step: Step, namespace: string): Promise<unknown> {
  const fill = (text: string) => text.replaceAll('$ns', namespace);
  const body = step.body === undefined ? undefined : JSON.parse(fill(JSON.stringify(step.body)));
  const answer = await server.client.send(step.method, fill(step.path), {
    ...(body === undefined ? {} : { body }),
    ...(step.type === undefined ? {} : { type: step.type }),
    ...(step.headers === undefined ? {} : { headers: step.headers }),
  });
  if (looseNames.has(step.name)) return { status: answer.status, reason: answer.body?.reason };
  return {
    status: answer.status,
    warnings: answer.headers['warning'] ?? '',
    body: normalize(answer.body, namespace),
  };
}

const volatile = new Set([
  'uid',
  'resourceVersion',
  'creationTimestamp',
  'deletionTimestamp',
  'time',
  'selfLink',
]);

const byText = (left: unknown, right: unknown) => (JSON.stringify(left) < JSON.stringify(right) ? -1 : 1);

/** Causes that the real server repeats count once; conflicts come in no order. */
function distinct(list: unknown[]): unknown[] {
  const seen = new Set<string>();
  const sorted = list.some((item) => JSON.stringify(item).includes('FieldManagerConflict'))
    ? list.toSorted(byText)
    : list;
  return sorted.filter((item) => {
    const text = JSON.stringify(item);
    const fresh = !text.includes('FieldValue') || !seen.has(text);
    seen.add(text);
    return fresh;
  });
}

/** Replaces what must differ: names of namespaces, identities, versions and times. Drops empty descriptions. */
function normalize(value: unknown, namespace: string): unknown {
  if (typeof value === 'string')
    return value
      .replaceAll(namespace, '$ns')
      .replace(/^\d+s$/, '<age>')
      .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<uid>');
  if (Array.isArray(value)) return distinct(value.map((item) => normalize(item, namespace)));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, member]) => {
    if (volatile.has(key) && typeof member === 'string') return [key, `<${key}>`];
    return [key, key === 'description' ? '' : normalize(member, namespace)];
  });
  return Object.fromEntries(entries);
}
