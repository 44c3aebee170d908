import type { KubeObject } from '#api/meta.ts';
import type { Client } from '#kube/client.ts';
import type { Manifest } from './manifests.ts';

export const fieldManager = 'ploinky-cli';

export type ApplyOutcome = 'created' | 'configured' | 'unchanged';

/** Applies one object server-side and says what that did. Conflicts with other managers throw ApiError 409. */
export async function applyManifest(
  client: Client,
  { resource, object }: Manifest,
  options: { namespace: string; force: boolean; dryRun: boolean },
): Promise<ApplyOutcome> {
  const namespace = object.metadata.namespace ?? options.namespace;
  const metadata = resource.namespaced ? { ...object.metadata, namespace } : object.metadata;
  const before = await client.find<KubeObject>(resource, { namespace, name: metadata.name });
  const after = await client.apply<KubeObject>(
    resource,
    { ...object, metadata },
    { fieldManager, fieldValidation: 'Strict', force: options.force, dryRun: options.dryRun },
  );
  if (before === undefined) return 'created';
  return before.metadata.resourceVersion === after.metadata.resourceVersion ? 'unchanged' : 'configured';
}
