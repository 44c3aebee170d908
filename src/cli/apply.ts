import type { KubeObject } from '#api/meta.ts';
import { canonicalJson } from '#kit/json.ts';
import type { Client } from '#kube/client.ts';
import { ApiError } from '#kube/errors.ts';
import type { Manifest } from './manifests.ts';

export const fieldManager = 'ploinky-cli';

export type ApplyOutcome = 'created' | 'configured' | 'unchanged';

export interface Applied {
  readonly outcome: ApplyOutcome;
  /** As the API has it now. */
  readonly object: KubeObject;
}

/** Applies one object server-side and says what that did. Conflicts with other managers throw ApiError 409. */
export async function applyManifest(
  client: Client,
  { resource, object, where }: Manifest,
  options: { namespace: string; force: boolean; dryRun: boolean },
): Promise<Applied> {
  const namespace = object.metadata.namespace ?? options.namespace;
  const metadata = resource.namespaced ? { ...object.metadata, namespace } : object.metadata;
  const before = await client.find<KubeObject>(resource, { namespace, name: metadata.name });
  const how = {
    fieldManager,
    fieldValidation: 'Strict',
    force: options.force,
    dryRun: options.dryRun,
  } as const;
  const after = await client
    .apply<KubeObject>(resource, { ...object, metadata }, how)
    .catch((error: unknown) => {
      throw error instanceof ApiError ? at(where, error) : error;
    });
  if (before === undefined) return { outcome: 'created', object: after };
  return { outcome: wishesOf(before) === wishesOf(after) ? 'unchanged' : 'configured', object: after };
}

/** The API's refusal with the file that it is about. */
function at(where: string, { status, reason, message, retryAfterMs, details }: ApiError): ApiError {
  return new ApiError({ status, reason, message: `${where}: ${message}`, retryAfterMs, details });
}

/** What people set, as comparable text: a status that changed meanwhile is not the apply's doing. */
function wishesOf(object: KubeObject): string {
  const { status: _status, metadata, ...rest } = object as KubeObject & { status?: unknown };
  const { name, labels, annotations, finalizers, ownerReferences } = metadata;
  return canonicalJson({ ...rest, metadata: { name, labels, annotations, finalizers, ownerReferences } });
}
