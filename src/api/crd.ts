import { type Kind, kinds, type PrinterColumn } from './kinds.ts';
import { type JsonSchema, jsonSchemaOf } from './schema/json-schema.ts';
import { structuralSchema } from './schema/structural.ts';

/** apiextensions.k8s.io/v1 CustomResourceDefinition, as far as this project writes it. */
export interface CustomResourceDefinition {
  readonly apiVersion: 'apiextensions.k8s.io/v1';
  readonly kind: 'CustomResourceDefinition';
  readonly metadata: {
    readonly name: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec: {
    readonly group: string;
    readonly scope: 'Namespaced' | 'Cluster';
    readonly names: {
      readonly kind: string;
      readonly listKind: string;
      readonly plural: string;
      readonly singular: string;
      readonly shortNames: readonly string[];
      readonly categories: readonly string[];
    };
    readonly versions: readonly CustomResourceVersion[];
  };
}

export interface CustomResourceVersion {
  readonly name: string;
  readonly served: boolean;
  readonly storage: boolean;
  readonly schema: { readonly openAPIV3Schema: JsonSchema };
  readonly subresources: {
    readonly status: Readonly<Record<string, never>>;
    readonly scale?: NonNullable<Kind['scale']>;
  };
  readonly additionalPrinterColumns: readonly PrinterColumn[];
}

/** The CRDs of Agent, Route and Task. Pure; the same objects that `crds/*.yaml` hold. */
export function customResourceDefinitions(): CustomResourceDefinition[] {
  return Object.values(kinds).map(customResourceDefinition);
}

function customResourceDefinition(kind: Kind): CustomResourceDefinition {
  const { resource, singular, shortName, columns, scale } = kind;
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${resource.plural}.${resource.group}` },
    spec: {
      group: resource.group,
      scope: resource.namespaced ? 'Namespaced' : 'Cluster',
      names: {
        kind: resource.kind,
        listKind: `${resource.kind}List`,
        plural: resource.plural,
        singular,
        shortNames: [shortName],
        categories: ['ploinky'],
      },
      versions: [
        {
          name: resource.version,
          served: true,
          storage: true,
          schema: { openAPIV3Schema: objectSchema(kind) },
          subresources: { status: {}, ...(scale === undefined ? {} : { scale }) },
          additionalPrinterColumns: columns,
        },
      ],
    },
  };
}

function objectSchema(kind: Kind): JsonSchema {
  return {
    type: 'object',
    description: kind.description,
    required: ['spec'],
    properties: {
      apiVersion: { type: 'string', description: 'Version of this kind of object.' },
      kind: { type: 'string', description: 'Kind of object.' },
      metadata: { type: 'object', properties: { name: nameSchema(kind) } },
      spec: specSchema(kind),
      status: {
        description: 'What is; written by the controller.',
        ...structuralSchema(jsonSchemaOf(kind.status)),
      },
    },
  };
}

function specSchema(kind: Kind): JsonSchema {
  const schema = structuralSchema(jsonSchemaOf(kind.spec));
  const rules = [
    ...(schema['x-kubernetes-validations'] ?? []),
    ...(kind.transition ? [kind.transition] : []),
  ];
  return {
    description: 'What is wanted.',
    ...schema,
    ...(rules.length === 0 ? {} : { 'x-kubernetes-validations': rules }),
  };
}

/** The API server lets names be 253 characters with dots; those of Agents and Routes become host names, labels and paths. */
function nameSchema({ maxNameLength, namePattern }: Kind): JsonSchema {
  return { type: 'string', maxLength: maxNameLength, pattern: namePattern.source };
}
