import type { KubeObject } from '#api/meta.ts';
import type { CheckResult, Cluster } from '../../context.ts';
import { isForbidden } from '../errors.ts';
import { storageClassResource } from '../objects.ts';
import { ok, warn } from './result.ts';

const defaultAnnotation = 'storageclass.kubernetes.io/is-default-class';

/** Whether an agent's volume that names no class gets one. */
export async function checkStorage({ client }: Cluster): Promise<CheckResult> {
  let classes: KubeObject[];
  try {
    classes = (await client.list(storageClassResource)).items;
  } catch (error) {
    if (!isForbidden(error)) throw error;
    return warn('you may not list StorageClasses', 'Ask an administrator whether there is a default one.');
  }
  const remedy = 'Make one the default, or name one in each agent’s spec.storage.storageClassName.';
  const names = (items: readonly KubeObject[]) => items.map(({ metadata }) => metadata.name).join(', ');
  const defaults = classes.filter(({ metadata }) => metadata.annotations?.[defaultAnnotation] === 'true');
  if (defaults.length === 1) return ok(`default class ${names(defaults)}`);
  if (defaults.length > 1) return ok(`default classes ${names(defaults)}: the newest counts`);
  const known = classes.length === 0 ? 'there is none' : `there are ${names(classes)}`;
  return warn(`no default StorageClass: ${known}`, remedy);
}
