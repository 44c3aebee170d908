import type { Request } from './request.ts';

export type Sequences = Readonly<Record<string, readonly Request[]>>;

type Json = Readonly<Record<string, unknown>>;

const plurals: Readonly<Record<string, string>> = {
  Widget: 'widgets',
  Agent: 'agents',
  Task: 'tasks',
  Secret: 'secrets',
  ConfigMap: 'configmaps',
  Lease: 'leases',
};

export const secret = (content: Json = {}): Json => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'a' },
  ...content,
});

export const configMap = (content: Json = {}): Json => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'a' },
  ...content,
});

export const lease = (spec?: Json): Json => ({
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: { name: 'a' },
  ...(spec === undefined ? {} : { spec }),
});

export function send(method: string, path: string, more: Omit<Request, 'method' | 'path'> = {}): Request {
  return { method, path, ...more };
}

/** Creates an object. */
export function make(body: Json, query = ''): Request {
  return send('POST', `${pluralOf(body)}${query}`, { body });
}

/** A request with an object that has more in its metadata. */
export function at(method: string, body: Json, more: Json): Request {
  const metadata = { ...(body['metadata'] as Json), ...more };
  return send(method, `${pluralOf(body)}/${String(metadata['name'])}`, { body: { ...body, metadata } });
}

export function pluralOf(body: Json): string {
  return plurals[String(body['kind'])] ?? '';
}
