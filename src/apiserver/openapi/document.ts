import { apiVersionOf, type Kind } from '../kinds/kind.ts';
import { objectMetaSchema } from '../schema/object-meta.ts';
import { definitionName, type Reference, referenceV3 } from './names.ts';
import { pathsOf } from './paths.ts';

type Json = Record<string, unknown>;

const metaPackage = 'io.k8s.apimachinery.pkg.apis.meta.v1';

/** The OpenAPI v3 document of one group and version. */
export function openApiDocument(kinds: readonly Kind[], version: string): Json {
  return {
    openapi: '3.0.0',
    info: { title: 'Ploinky workspace API', version },
    paths: Object.assign({}, ...kinds.map(pathsOf)),
    components: { schemas: schemasOf(kinds, referenceV3) },
  };
}

/** The schemas of kinds, their lists, and what they share. */
export function schemasOf(kinds: readonly Kind[], reference: Reference): Json {
  const schemas: Json = { ...sharedSchemas(reference) };
  for (const kind of kinds) {
    schemas[definitionName(kind)] = kindSchema(kind, reference);
    schemas[`${definitionName(kind)}List`] = listSchema(kind, reference);
  }
  return schemas;
}

function kindSchema(kind: Kind, reference: Reference): Json {
  const { group, version } = kind;
  return {
    ...kind.schema,
    properties: {
      ...kind.schema.properties,
      metadata: {
        description:
          "Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata",
        allOf: [reference(`${metaPackage}.ObjectMeta`)],
      },
    },
    'x-kubernetes-group-version-kind': [{ group, version, kind: kind.kind }],
  };
}

function listSchema(kind: Kind, reference: Reference): Json {
  const { group, version } = kind;
  return {
    description: `${kind.listKind} is a list of ${kind.kind}`,
    type: 'object',
    required: ['items'],
    properties: {
      apiVersion: { type: 'string', description: `${apiVersionOf(kind)}` },
      items: {
        type: 'array',
        items: reference(definitionName(kind)),
        description: `List of ${kind.plural}.`,
      },
      kind: { type: 'string', description: kind.listKind },
      metadata: {
        description: 'Version and continuation of the list.',
        allOf: [reference(`${metaPackage}.ListMeta`)],
      },
    },
    'x-kubernetes-group-version-kind': [{ group, version, kind: kind.listKind }],
  };
}

function sharedSchemas(reference: Reference): Json {
  const text = { type: 'string' };
  return {
    [`${metaPackage}.ObjectMeta`]: objectMetaSchema,
    [`${metaPackage}.ListMeta`]: {
      type: 'object',
      properties: {
        continue: text,
        remainingItemCount: { type: 'integer', format: 'int64' },
        resourceVersion: text,
        selfLink: text,
      },
    },
    [`${metaPackage}.Patch`]: { type: 'object', description: 'The body of a PATCH.' },
    [`${metaPackage}.DeleteOptions`]: {
      type: 'object',
      properties: {
        apiVersion: text,
        dryRun: { type: 'array', items: text },
        gracePeriodSeconds: { type: 'integer', format: 'int64' },
        kind: text,
        orphanDependents: { type: 'boolean' },
        preconditions: { type: 'object', properties: { resourceVersion: text, uid: text } },
        propagationPolicy: text,
      },
    },
    [`${metaPackage}.Status`]: {
      type: 'object',
      properties: {
        apiVersion: text,
        code: { type: 'integer', format: 'int32' },
        details: { type: 'object', additionalProperties: true },
        kind: text,
        message: text,
        metadata: { allOf: [reference(`${metaPackage}.ListMeta`)] },
        reason: text,
        status: text,
      },
    },
    'io.k8s.api.autoscaling.v1.Scale': {
      type: 'object',
      properties: {
        apiVersion: text,
        kind: text,
        metadata: { allOf: [reference(`${metaPackage}.ObjectMeta`)] },
        spec: { type: 'object', properties: { replicas: { type: 'integer', format: 'int32' } } },
        status: {
          type: 'object',
          properties: { replicas: { type: 'integer', format: 'int32' }, selector: text },
        },
      },
      'x-kubernetes-group-version-kind': [{ group: 'autoscaling', version: 'v1', kind: 'Scale' }],
    },
  };
}
