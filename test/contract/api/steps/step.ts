import { widget } from '../fixtures/widget.ts';
import { applyType, mergeType, widgets } from '../suite.ts';

/** One request; `$ns` in path and body stands for the test's namespace. */
export interface Step {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export const w = (name = '', query = '') => widgets('$ns', name, query);
export const post = (name: string, body: unknown, query = ''): Step => ({
  name,
  method: 'POST',
  path: w('', query),
  body,
});
export const patch = (name: string, path: string, body: unknown, type = mergeType): Step => ({
  name,
  method: 'PATCH',
  path,
  body,
  type,
});
export const apply = (name: string, manager: string, body: Record<string, unknown>, query = ''): Step =>
  patch(
    name,
    w((body['metadata'] as { name: string }).name, `?fieldManager=${manager}${query}`),
    body,
    applyType,
  );
export const get = (name: string, path: string, headers: Record<string, string> = {}): Step => ({
  name,
  method: 'GET',
  path,
  headers,
});
export const table = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' };
export const partial = { accept: 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io' };
export const bad = (name: string, spec: Record<string, unknown>) =>
  post(`refuses ${name}`, widget('bad', spec));
