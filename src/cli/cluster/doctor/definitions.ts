import { customResourceDefinitions } from '#api/crd.ts';
import { isObject } from '#kit/json.ts';
import type { CheckResult, Cluster } from '../../context.ts';
import { isForbidden } from '../errors.ts';
import { type Definition, definitionResource } from '../objects.ts';
import { fail, ok, warn } from './result.ts';

/** Whether Agent, Route and Task are known, and as this version of the program knows them. */
export async function checkDefinitions({ client, context }: Cluster): Promise<CheckResult> {
  const wanted = customResourceDefinitions();
  let found: (Definition | undefined)[];
  try {
    const read = wanted.map(({ metadata }) =>
      client.find<Definition>(definitionResource, { namespace: '', name: metadata.name }),
    );
    found = await Promise.all(read);
  } catch (error) {
    if (!isForbidden(error)) throw error;
    return warn(
      'you may not read CustomResourceDefinitions',
      'Ask an administrator to run `ploinky doctor`.',
    );
  }
  const names = wanted.map(({ metadata }) => metadata.name);
  const missing = names.filter((_, index) => found[index] === undefined);
  if (missing.length > 0) {
    return fail(`missing: ${missing.join(', ')}`, `Install Ploinky: ploinky install --context ${context}`);
  }
  const away = names.filter((_, index) => !isEstablished(found[index]));
  if (away.length > 0) {
    return fail(`not served: ${away.join(', ')}`, `Read \`kubectl describe crd ${away[0]}\`.`);
  }
  const other = wanted.filter((definition, index) => !isSame(definition, found[index]));
  if (other.length === 0) return ok(`${names.join(', ')}, as this version has them`);
  return warn(
    `of another version than this program: ${other.map(({ metadata }) => metadata.name).join(', ')}`,
    `Bring both to one version: ploinky upgrade --context ${context}`,
  );
}

function isEstablished(definition: Definition | undefined): boolean {
  const conditions = definition?.status?.conditions ?? [];
  return conditions.some(({ type, status }) => type === 'Established' && status === 'True');
}

function isSame(
  wanted: ReturnType<typeof customResourceDefinitions>[number],
  found: Definition | undefined,
): boolean {
  return wanted.spec.versions.every(({ name, schema }) => {
    const there = found?.spec?.versions?.find((version) => version.name === name);
    return there !== undefined && covers(there.schema?.openAPIV3Schema, schema.openAPIV3Schema);
  });
}

/** Equal but for members that the API adds by itself. */
function covers(there: unknown, wanted: unknown): boolean {
  if (Array.isArray(wanted)) {
    return (
      Array.isArray(there) &&
      there.length === wanted.length &&
      wanted.every((item, index) => covers(there[index], item))
    );
  }
  if (isObject(wanted)) {
    return (
      isObject(there) &&
      Object.entries(wanted).every(([key, value]) => value === undefined || covers(there[key], value))
    );
  }
  return there === wanted;
}
