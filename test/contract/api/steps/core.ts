import { widget } from '../fixtures/widget.ts';
import { applyType, core, mergeType, strategicType, widgets } from '../suite.ts';
import { get, type Step, table } from './step.ts';

/** Secrets, config maps, events, leases and namespaces. */
export const coreSteps: Step[] = [
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
