import { TerminalError } from '#kit/errors.ts';
import { compileRules } from '../schema/cel-rules.ts';
import { subdomainProblems } from '../schema/names.ts';
import { objectSchema } from '../schema/object-meta.ts';
import type { Schema } from '../schema/schema.ts';
import type { Kind, PrinterColumn, ScalePaths, Strategy } from './kind.ts';

/** The part of apiextensions.k8s.io/v1 CustomResourceDefinition that this server reads. */
export interface CustomResourceDefinition {
  readonly spec: {
    readonly group: string;
    readonly scope: string;
    readonly names: {
      readonly kind: string;
      readonly plural: string;
      readonly singular?: string | undefined;
      readonly listKind?: string | undefined;
      readonly shortNames?: readonly string[] | undefined;
      readonly categories?: readonly string[] | undefined;
    };
    readonly versions: readonly CustomResourceVersion[];
  };
}

export interface CustomResourceVersion {
  readonly name: string;
  readonly served?: boolean;
  readonly storage?: boolean;
  readonly schema?: { readonly openAPIV3Schema?: unknown } | undefined;
  readonly subresources?: { readonly status?: unknown; readonly scale?: ScalePaths | undefined } | undefined;
  readonly additionalPrinterColumns?: readonly PrinterColumn[] | undefined;
}

const ageColumn: PrinterColumn = {
  name: 'Age',
  type: 'date',
  jsonPath: '.metadata.creationTimestamp',
  description:
    'CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed to be set in happens-before order across separate operations. Clients may not set this value. It is represented in RFC3339 form and is in UTC.',
};

/**
 * The kind that a CustomResourceDefinition defines. One version is served: the stored one.
 * Throws TerminalError `DefinitionInvalid` when a CEL rule does not compile.
 */
export function customKind(definition: CustomResourceDefinition): Kind {
  const { group, names, scope, versions } = definition.spec;
  const version = versions.find((one) => one.storage !== false && one.served !== false);
  if (version === undefined)
    throw new TerminalError('DefinitionInvalid', `${names.plural}.${group} has no served version`);
  const schema = objectSchema((version.schema?.openAPIV3Schema ?? { type: 'object' }) as Schema);
  const scale = version.subresources?.scale;
  return {
    group,
    version: version.name,
    kind: names.kind,
    listKind: names.listKind ?? `${names.kind}List`,
    plural: names.plural,
    singular: names.singular ?? names.kind.toLowerCase(),
    shortNames: names.shortNames ?? [],
    categories: names.categories ?? [],
    namespaced: scope === 'Namespaced',
    custom: true,
    schema,
    rules: compileRules(schema, `${names.plural}.${group}`),
    status: version.subresources?.status !== undefined,
    ...(scale === undefined ? {} : { scale }),
    columns: version.additionalPrinterColumns?.length ? version.additionalPrinterColumns : [ageColumn],
    storage: { id: `${group}/${names.plural}`, secret: false },
    strategy: customStrategy,
  };
}

const customStrategy: Strategy = {
  unconditionalUpdate: false,
  createOnUpdate: false,
  generation: true,
  strategicMerge: false,
  validateName: subdomainProblems,
};
