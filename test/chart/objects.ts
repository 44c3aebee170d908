import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KubeObject } from '#api/meta.ts';
import type { PodSpec } from './restricted.ts';

const folder = join(import.meta.dirname, 'values');

/** Values that the chart is rendered with: its own defaults, and each file of `values/`. */
export function valueSets(): { readonly name: string; readonly values: string }[] {
  const files = readdirSync(folder).map((file) => ({
    name: file,
    values: readFileSync(join(folder, file), 'utf8'),
  }));
  return [{ name: 'the defaults', values: '{}' }, ...files];
}

export interface Deployment extends KubeObject {
  readonly spec: {
    readonly replicas: number;
    readonly template: {
      readonly metadata: { readonly labels: Readonly<Record<string, string>> };
      readonly spec: PodSpec;
    };
  };
}

export function isDeployment(object: KubeObject): object is Deployment {
  return object.kind === 'Deployment';
}

/** Every pod that comes out of the objects, with a name for messages. */
export function podsOf(objects: readonly KubeObject[]): { readonly name: string; readonly spec: PodSpec }[] {
  return objects.flatMap((object) => {
    const name = `${object.kind} ${object.metadata.name}`;
    if (isDeployment(object)) return [{ name, spec: object.spec.template.spec }];
    return object.kind === 'Pod' ? [{ name, spec: (object as KubeObject & { spec: PodSpec }).spec }] : [];
  });
}

export function argumentsOf(objects: readonly KubeObject[], deployment: string): readonly string[] {
  const found = objects.filter(isDeployment).find(({ metadata }) => metadata.name === deployment);
  return found?.spec.template.spec.containers[0]?.args ?? [];
}
