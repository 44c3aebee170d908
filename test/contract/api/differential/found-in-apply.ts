import { widget } from '../fixtures/widget.ts';
import { applyType, mergeType } from '../suite.ts';
import { configMap, lease, make, pluralOf, type Sequences, secret, send } from './found-tools.ts';
import type { Request } from './request.ts';

const bare = { apiVersion: 'contract.ploinky.dev/v1', kind: 'Widget', metadata: { name: 'a' } };

function apply(manager: string, body: Readonly<Record<string, unknown>>, query = ''): Request {
  const { name } = body['metadata'] as { name: string };
  return send('PATCH', `${pluralOf(body)}/${name}?fieldManager=${manager}${query}`, {
    body,
    type: applyType,
  });
}

/** Of server-side apply and owners of fields. */
export const foundInApply: Sequences = {
  'what nobody owned belongs to before-first-apply from the first apply on, and to no updater before': [
    make(bare),
    send('PATCH', 'widgets/a', { body: { metadata: { finalizers: ['x.y/z'] } }, type: mergeType }),
    send('PATCH', 'widgets/a/status', { body: { status: { phase: 'Up' } }, type: mergeType }),
    apply('one', widget('a', { on: true })),
  ],
  'owners that were reset are none until an apply': [
    make(widget('a', { size: 2 })),
    send('PATCH', 'widgets/a', {
      body: { metadata: { managedFields: [{}] }, spec: { size: 3 } },
      type: mergeType,
    }),
  ],
  'keys of items are written as Go writes JSON': [
    make(widget('a', { tags: ['<a>', 'b&c'], parts: [{ name: 'x&y' }] })),
    apply('one', widget('a', { tags: ['<a>'] })),
  ],
  'who says what is so already gets no time': [
    make(widget('a', { size: 2 })),
    apply('one', widget('a', { size: 2 })),
    apply('one', widget('a', { size: 3 }), '&force=true'),
    apply('one', widget('a', { size: 3 })),
    apply('two', { ...widget('a'), status: { phase: 'Up' } }),
  ],
  'a manager that owned metadata alone can let go of it': [
    apply('one', { ...bare, metadata: { name: 'a', annotations: { k: 'v' } } }),
    apply('one', bare),
  ],
  'the status that comes with a configuration is nobody’s': [
    make(bare),
    send('PATCH', 'widgets/a/status', { body: { status: {} }, type: mergeType }),
    apply('one', { ...bare, status: {} }, '&force=true'),
  ],
  'a status that no schema fits leaves a new object without owners': [
    make({ ...widget('a', { size: 2 }), status: { conditions: [{}] } }),
  ],
  'a status that no schema fits takes all owners away, though it is not written': [
    make(widget('a', { size: 2 })),
    send('PUT', 'widgets/a', { change: { status: { conditions: [{}] } } }),
    send('PATCH', 'widgets/a/status?fieldManager=one', { body: { ...bare, status: null }, type: applyType }),
  ],
  'a list where a time belongs in the status is kept, and takes all owners away': [
    make(widget('a', { size: 2 })),
    send('PATCH', 'widgets/a/status', {
      body: { status: { conditions: [{ type: 'A', status: 'B', lastTransitionTime: ['a'] }] } },
      type: mergeType,
    }),
  ],
  'a text with a format may be any scalar until it is validated': [apply('one', widget('a', { when: -1 }))],
  'what a configuration names stays its manager’s, even where the merge empties it': [
    make(widget('a', { nested: { deep: { leaf: 'x' } } })),
    apply('one', widget('a', { nested: { deep: { leaf: 'x' } } }), '&force=true'),
    apply('one', widget('a', { nested: { deep: {} } })),
  ],
  'items without their keys, and items that come twice, are refused': [
    make(bare),
    apply('one', widget('a', { parts: [{}] })),
    apply('one', widget('a', { parts: [{ name: 'p' }, { name: 'p' }] })),
    apply('one', widget('a', { tags: ['x', 'x'] })),
    apply('one', secret({ nope: null })),
  ],
  'a uid that is another is refused as what cannot change, a version as a conflict': [
    make(bare),
    apply('one', { ...bare, metadata: { name: 'a', uid: 'other' } }),
    apply('one', { ...bare, metadata: { name: 'b', uid: 'other' } }),
    apply('one', { ...bare, metadata: { name: 'a', resourceVersion: '1' } }),
    apply('one', { ...bare, metadata: { name: 'b', resourceVersion: '1' } }),
    apply('one', { ...bare, metadata: { name: 'c', deletionTimestamp: '2026-01-02T03:04:05Z' } }),
  ],
  'null keeps what is below, and is owned': [
    make(widget('a', { options: { k: 'v' }, size: 2 })),
    apply('one', { ...bare, spec: null }),
    apply('one', { ...secret(), type: null }),
    apply('one', secret({ stringData: { k: null } })),
    apply('one', { ...bare, metadata: { name: 'b', labels: null } }),
  ],
  'a conflict comes before a wrong namespace': [
    make(widget('a', { size: 2 })),
    apply('one', { ...widget('a', { size: 3 }), metadata: { name: 'a', namespace: 'elsewhere' } }),
    apply('one', { ...widget('b', { size: 3 }), metadata: { name: 'b', namespace: 'elsewhere' } }),
  ],
  'what cannot be read after it was merged is no fault that was foreseen': [
    apply('one', lease({ renewTime: '2026-01-02T03:04:05Z' })),
  ],
  'empty members of built-in types are owned and not there': [
    apply('one', configMap({ data: {} })),
    apply('one', configMap({ binaryData: {} })),
  ],
};
