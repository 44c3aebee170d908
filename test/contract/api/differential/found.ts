import { widget } from '../fixtures/widget.ts';
import { applyType, jsonPatchType, mergeType, strategicType } from '../suite.ts';
import { foundInApply } from './found-in-apply.ts';
import { at, configMap, lease, make, type Sequences, secret, send } from './found-tools.ts';

/** What random sequences found to be answered differently, made short and named by what is right. */
export const found: Sequences = {
  ...foundInApply,
  'empty maps and lists of the metadata are not there': [
    make(widget('a', {}, { labels: {}, annotations: {}, finalizers: [] })),
    send('PUT', 'widgets/a', { change: { metadata: { labels: {} } } }),
  ],
  'what a built-in type does not write when it is empty is not there': [
    make(secret({ data: {}, type: '' })),
    make({ ...configMap({ data: {} }), binaryData: null }),
    send('PATCH', 'secrets/a', { body: [{ op: 'add', path: '/data', value: {} }], type: jsonPatchType }),
  ],
  'null for a text in a map is the empty text': [
    make(secret({ stringData: { k: null } })),
    make(configMap({ data: { k: null } })),
    make(widget('a', {}, { labels: { app: null } })),
    make(widget('b', { options: { k: null } })),
  ],
  'bytes are no list': [
    make(secret()),
    send('PATCH', 'secrets/a', { body: { data: { k: ['a', 'a'] } }, type: mergeType }),
    make({ ...secret(), metadata: { name: 'b', creationTimestamp: [] } }),
  ],
  'an immutable map may not become an empty one': [
    make(secret({ immutable: true })),
    send('PATCH', 'secrets/a', { body: { data: {}, type: 'b' }, type: mergeType }),
    make(configMap({ immutable: true, data: { a: 'b' } })),
    send('PUT', 'configmaps/a', { change: { binaryData: {} } }),
    make({ ...configMap({ immutable: true }), metadata: { name: 'b' } }),
    send('PATCH', 'configmaps/b', { body: { data: {} }, type: mergeType }),
    send('PUT', 'configmaps/a', { change: { metadata: { labels: { app: 'x' } } } }),
  ],
  'what comes to be in its deletion goes with the next write, though that changes nothing': [
    send('PATCH', 'configmaps/a?fieldManager=one', {
      body: { ...configMap(), metadata: { name: 'a', deletionTimestamp: '2026-01-02T03:04:05Z' } },
      type: applyType,
    }),
    send('PATCH', 'configmaps/a', { body: {}, type: mergeType }),
  ],
  'a generation is kept where no server counts it, an update changes none': [
    make({ ...lease(), metadata: { name: 'a', generation: 7 } }),
    make({ ...lease(), metadata: { name: 'b', generation: 0 } }),
    send('PUT', 'leases/a', { change: { metadata: { generation: 9 } } }),
    send('PUT', 'leases/a', { change: { metadata: { deletionTimestamp: '2026-01-02T03:04:05Z' } } }),
  ],
  'times of a lease have six digits and are kept in UTC': [
    make(lease({ renewTime: '2026-01-02T03:04:05Z' })),
    make(lease({ renewTime: '2026-01-02T03:04:05.123456+02:00', strategy: 'x', holderIdentity: '' })),
  ],
  'a PUT that creates takes no notice of the version, but of the uid': [
    at('PUT', lease(), { resourceVersion: '1' }),
    at('PUT', { ...lease(), metadata: { name: 'b' } }, { uid: 'other' }),
    send('PUT', 'leases/b?dryRun=All', {
      body: { ...lease(), metadata: { name: 'b', resourceVersion: '7' } },
    }),
  ],
  'a version is refused on creation after all else, and not on a dry run': [
    make(widget('a', { low: 2, high: 1 }, { resourceVersion: '7' })),
    make(widget('a', {}, { resourceVersion: '7' }), '?dryRun=All'),
    make(widget('a', {}, { resourceVersion: '7' })),
  ],
  'an object that is leaving is said to be so': [
    make(widget('a', {}, { finalizers: ['contract.ploinky.dev/hold'] })),
    send('DELETE', 'widgets/a'),
    make(widget('a')),
  ],
  'watchers see the last state with the finalizer that was the last': [
    make(widget('a', {}, { finalizers: ['contract.ploinky.dev/hold'] })),
    send('DELETE', 'widgets/a'),
    send('PATCH', 'widgets/a', { body: { metadata: { finalizers: null } }, type: mergeType }),
  ],
  'finalizers come twice if one likes, need a domain in the core group, and are warned of elsewhere': [
    make(widget('a', {}, { finalizers: ['plain', 'some.plain', 'x.y/z', 'x.y/z'] })),
    make(widget('a', {}, { finalizers: ['plain'] })),
    send('PATCH', 'widgets/a', { body: { metadata: { finalizers: ['plain', 'other'] } }, type: mergeType }),
    make({ ...secret(), metadata: { name: 'a', finalizers: ['plain'] } }),
  ],
  'a DELETE with a body does not look at the query': [
    make(configMap()),
    send('DELETE', 'configmaps/a?dryRun=All', { body: { propagationPolicy: 'Background' } }),
  ],
  'deleting a collection answers with what was, as items of a list': [
    make({ ...secret(), metadata: { name: 'a', finalizers: ['x.y/z'] } }),
    send('DELETE', 'secrets'),
  ],
  'what cannot be read after a patch is the fault of the patch': [
    make(secret()),
    send('PATCH', 'secrets/a', { body: { immutable: 'Opaque' }, type: mergeType }),
    send('PATCH', 'secrets/a', { body: { kind: 'Other' }, type: mergeType }),
  ],
  'a JSON patch replaces, copies and tests what is not there, and counts from the end': [
    make(widget('a', { steps: ['x', 'y'] })),
    send('PATCH', 'widgets/a', {
      body: [
        { op: 'test', path: '/spec/key', value: null },
        { op: 'replace', path: '/spec/key', value: 'ab' },
        { op: 'copy', from: '/spec/on', path: '/spec/maybe' },
        { op: 'replace', path: '/spec/steps/-1', value: 'z' },
      ],
      type: jsonPatchType,
    }),
    send('PATCH', 'widgets/a', { body: [{ op: 'remove', path: '' }], type: jsonPatchType }),
    send('PATCH', 'widgets/a', { body: [{ op: 'sort', path: '/spec' }], type: jsonPatchType }),
  ],
  'a merge patch drops nulls inside lists too': [
    make(widget('a')),
    send('PATCH', 'widgets/a', {
      body: { spec: { free: { list: [{ a: null, b: [{ c: null }] }] } } },
      type: mergeType,
    }),
  ],
  'a strategic merge puts its own items first': [
    make({ ...lease(), metadata: { name: 'a', finalizers: ['x.y/a', 'x.y/b'] } }),
    send('PATCH', 'leases/a', {
      body: { metadata: { finalizers: ['x.y/c', 'x.y/b'] } },
      type: strategicType,
    }),
  ],
  'a built-in type need not say its type, but what takes its place its name': [
    send('POST', 'secrets', { body: { metadata: { name: 'a' } } }),
    send('POST', 'configmaps', { body: { apiVersion: 'v1', metadata: { name: 'a' } } }),
    send('PUT', 'secrets/a', { body: { metadata: { labels: { app: 'x' } } } }),
    make(widget('a')),
    send('PUT', 'widgets/a', { change: { metadata: { name: null } } }),
    send('PATCH', 'widgets/a', { body: { metadata: { name: null } }, type: mergeType }),
  ],
  'unknown fields are named in the order in which they are read': [
    make({ ...widget('a', { nope: 1, an: { other: 2 } }, { what: 1 }), extra: true }),
    make({ ...lease({ nope: 1 }), extra: true, again: 1 }, '?fieldValidation=Strict'),
    make({ ...widget('b', {}, { labels: { app: 5 } }), nope: 1 }),
    make(widget('c', { nested: [{ nope: 1 }] })),
  ],
  'numbers of the wrong form are told by their format': [
    make({
      apiVersion: 'ploinky.dev/v1alpha1',
      kind: 'Task',
      metadata: { name: 'a' },
      spec: { agentRef: { name: 'a' }, tool: 't', ttlSecondsAfterFinished: 5e9, estimatedTokens: {} },
    }),
    make(widget('a', { when: 5, size: 1.5, mode: 7 })),
  ],
  'items of lists with keys must be objects, and the second of equals is named': [
    make(widget('a', { parts: [1, { name: 'p' }], tags: ['x', 'x', 'x'] })),
  ],
  'a scale must have its numbers where they are looked for': [
    make({ apiVersion: 'ploinky.dev/v1alpha1', kind: 'Agent', metadata: { name: 'a' }, spec: [] }),
    make({ apiVersion: 'ploinky.dev/v1alpha1', kind: 'Agent', metadata: { name: 'a' }, spec: null }),
    make(widget('a', { replicas: 5e9 })),
  ],
  'an object without replicas has no scale to read, and one to write': [
    send('POST', 'widgets', {
      body: { apiVersion: 'contract.ploinky.dev/v1', kind: 'Widget', metadata: { name: 'a' } },
    }),
    send('GET', 'widgets/a/scale'),
    send('PATCH', 'widgets/a/scale', { body: { metadata: {} }, type: mergeType }),
    send('PATCH', 'widgets/a/scale', { body: { spec: { replicas: 2 } }, type: mergeType }),
  ],
  'a scale is read as the type it is': [
    make(widget('a')),
    ...[5e9, 1.5, 'two'].map((replicas) =>
      send('PATCH', 'widgets/a/scale', { body: { spec: { replicas } }, type: mergeType }),
    ),
    send('PUT', 'widgets/a/scale', {
      body: { apiVersion: 'autoscaling/v1', kind: 'Scale', metadata: { name: 'b' }, spec: { replicas: 2 } },
    }),
  ],
  'who scales owns the replicas, but not none of them': [
    make(widget('a')),
    send('PATCH', 'widgets/a/scale?fieldManager=one', { body: { spec: { replicas: 3 } }, type: mergeType }),
    send('PATCH', 'widgets/a/scale?fieldManager=two', { body: { spec: { replicas: 3 } }, type: mergeType }),
    send('GET', 'widgets/a'),
    send('PATCH', 'widgets/a/scale?fieldManager=two', { body: { spec: { replicas: 0 } }, type: mergeType }),
  ],
  'a status is judged in its own words': [
    make(widget('a')),
    send('PATCH', 'widgets/a/status', { body: { status: { conditions: [null] } }, type: mergeType }),
    send('PATCH', 'widgets/none/status?fieldManager=one', {
      body: { ...widget('none'), status: { nope: 1 } },
      type: applyType,
    }),
  ],
  'lists say what cannot be asked of them': [
    make(widget('a')),
    send('GET', 'widgets?resourceVersionMatch=Exact'),
    send('GET', 'widgets?resourceVersionMatch=Sometimes&resourceVersion=1'),
    send('GET', 'widgets', { accept: 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io' }),
    send('GET', 'widgets?labelSelector=none', {
      accept: 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io',
    }),
    send('GET', 'widgets/a', { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' }),
  ],
};
