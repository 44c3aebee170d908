import type { Kind } from '../kinds/kind.ts';
import type { ApiObject, ManagedFieldsEntry } from '../object.ts';
import { mergePatch } from '../patch/merge-patch.ts';

/** Who writes, and when. */
export interface Writer {
  readonly manager: string;
  /** `status`, `scale` or empty. */
  readonly subresource: string;
  readonly time: string;
}

export function trackUpdate(
  _kind: Kind,
  live: ApiObject | undefined,
  _next: ApiObject,
  _writer: Writer,
): ManagedFieldsEntry[] {
  return live?.metadata.managedFields ?? [];
}

export function applyConfiguration(
  _kind: Kind,
  live: ApiObject | undefined,
  config: ApiObject,
  _writer: Writer,
  _force: boolean,
): ApiObject {
  const { managedFields: _, resourceVersion: __, ...metadata } = config.metadata;
  return mergePatch(live ?? {}, { ...config, metadata }) as ApiObject;
}
