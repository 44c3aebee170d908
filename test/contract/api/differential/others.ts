import fc from 'fast-check';
import { applyType, mergeType } from '../suite.ts';
import { drawn, dryRun, type Json, nothing, optional, queryOf, writing } from './objects.ts';
import type { Request } from './request.ts';
import type { Subject } from './subjects.ts';
import { drawValue } from './values.ts';

const names = fc.constantFrom('a', 'b');
const table = 'application/json;as=Table;v=v1;g=meta.k8s.io';
const partial = 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io';
const accepts = fc.oneof(
  { weight: 6, arbitrary: nothing },
  { weight: 1, arbitrary: fc.constantFrom({ accept: table }, { accept: partial }) },
);

/** Writes and reads of /status, where the kind has it. */
export function status(subject: Subject): fc.Arbitrary<Request>[] {
  const { status: schema, apiVersion, kind, plural } = subject;
  if (schema === undefined) return [];
  const types = fc.constantFrom(mergeType, mergeType, applyType, 'PUT');
  return [
    drawn((level) =>
      fc
        .tuple(drawValue(schema, level), types, optional(['force=true']), writing)
        .map(([value, type, force, query]) => (name) => {
          const path = `${plural}/${name}/status${query}`;
          if (type === 'PUT') return { method: 'PUT', path, change: { status: value } };
          if (type === mergeType) return { method: 'PATCH', path, body: { status: value }, type };
          const body = { apiVersion, kind, metadata: { name }, status: value };
          return { method: 'PATCH', path: `${path}${path.includes('?') ? '&' : '?'}${force}`, body, type };
        }),
    ),
  ];
}

/** Writes and reads of /scale, where the kind has it. */
export function scale(subject: Subject): fc.Arbitrary<Request>[] {
  if (!subject.scale) return [];
  const replicas = fc.constantFrom<unknown>(0, 1, 2, 3, -1, 1.5, null, 'two', 5000000000);
  const at = fc.constantFrom<Json>({}, {}, { resourceVersion: '$fresh' }, { resourceVersion: '$stale' });
  return [
    fc
      .tuple(names, replicas, at, fc.constantFrom('GET', 'PUT', 'merge', 'apply'), writing)
      .map(([name, count, meta, way, query]): Request => {
        const path = `${subject.plural}/${name}/scale`;
        if (way === 'GET') return { method: 'GET', path };
        const body = {
          apiVersion: 'autoscaling/v1',
          kind: 'Scale',
          metadata: { name, namespace: '$ns', ...meta },
          spec: { replicas: count },
        };
        if (way === 'PUT') return { method: 'PUT', path: `${path}${query}`, body };
        return {
          method: 'PATCH',
          path: `${path}${query}`,
          body: { spec: body.spec, metadata: meta },
          type: mergeType,
        };
      }),
  ];
}

export function remove(subject: Subject): fc.Arbitrary<Request> {
  const options = fc.constantFrom<unknown>(
    undefined,
    undefined,
    { propagationPolicy: 'Background' },
    { preconditions: { uid: '$uid' } },
    { preconditions: { uid: '00000000-0000-4000-8000-000000000000' } },
    { preconditions: { resourceVersion: '$fresh' } },
    { preconditions: { resourceVersion: '$stale' } },
    { dryRun: ['All'] },
    { propagationPolicy: 'Sideways' },
    { gracePeriodSeconds: 0 },
    { gracePeriodSeconds: -1 },
    { orphanDependents: false, propagationPolicy: 'Background' },
    { nope: 1 },
  );
  const one = fc.tuple(names, options, dryRun).map(([name, body, dry]) => ({
    method: 'DELETE',
    path: `${subject.plural}/${name}${queryOf([dry])}`,
    ...(body === undefined ? {} : { body }),
  }));
  const all = fc.tuple(optional(['labelSelector=app', 'labelSelector=tier%3Dx'], 6), dryRun).map((parts) => ({
    method: 'DELETE',
    path: `${subject.plural}${queryOf(parts)}`,
  }));
  return fc.oneof({ weight: 5, arbitrary: one }, { weight: 1, arbitrary: all });
}

export function read(subject: Subject): fc.Arbitrary<Request> {
  const paths = [
    ...['/a', '/b', ...(subject.status === undefined ? [] : ['/a/status'])],
    '',
    '?limit=1',
    '?limit=2',
    '?limit=1&continue=$continue',
    '?limit=3&continue=$continue',
    '?labelSelector=app',
    '?labelSelector=app%3Dx&limit=1',
    '?labelSelector=app%21%3Dx,tier+in+(x,y)',
    '?labelSelector=!tier',
    '?fieldSelector=metadata.name%3Da',
    '?fieldSelector=metadata.name%21%3Da,metadata.namespace%3D$ns',
    '?fieldSelector=spec.size%3D1',
    '?fieldSelector=type%3DOpaque',
    '?resourceVersionMatch=Exact',
    '?limit=-1',
    '?labelSelector=a+b',
  ];
  return fc
    .tuple(fc.constantFrom(...paths), accepts)
    .map(([path, accept]) => ({ method: 'GET', path: `${subject.plural}${path}`, ...accept }));
}
