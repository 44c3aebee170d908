import { widget } from '../fixtures/widget.ts';
import { applyType, mergeType } from '../suite.ts';
import { apply, get, patch, type Step, w } from './step.ts';

/** Server-side apply and what becomes of field owners. */
export const applySteps: Step[] = [
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
];
