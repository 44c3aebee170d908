import type { Kind } from '../kinds/kind.ts';
import { supportedPatchTypes } from '../verbs/patch-types.ts';
import { definitionName, referenceV3 } from './names.ts';

type Json = Record<string, unknown>;

const metaPackage = 'io.k8s.apimachinery.pkg.apis.meta.v1';
const query = (name: string, description: string, type = 'string'): Json => ({
  name,
  in: 'query',
  description,
  schema: { type, uniqueItems: true },
});
const inPath = (name: string, description: string): Json => ({
  name,
  in: 'path',
  description,
  required: true,
  schema: { type: 'string', uniqueItems: true },
});

const listParameters = [
  query(
    'allowWatchBookmarks',
    'Ask for BOOKMARK events, which carry a resourceVersion and nothing else.',
    'boolean',
  ),
  query('continue', 'Where the page before ended.'),
  query('fieldSelector', 'Only objects with these field values.'),
  query('labelSelector', 'Only objects with these labels.'),
  query('limit', 'At most this many objects in one page.', 'integer'),
  query('resourceVersion', 'From which version on.'),
  query('resourceVersionMatch', 'How resourceVersion is meant: Exact or NotOlderThan.'),
  query('sendInitialEvents', 'Begin a watch with the present state.', 'boolean'),
  query('timeoutSeconds', 'End a watch after this time.', 'integer'),
  query('watch', 'Stream changes instead of listing.', 'boolean'),
];
const writeParameters = [
  query('dryRun', 'All: do everything but store.'),
  query('fieldManager', 'Who makes the change.'),
  query('fieldValidation', 'What to do with unknown fields: Ignore, Warn (the default) or Strict.'),
];
const deleteParameters = [
  query('dryRun', 'All: do everything but store.'),
  query('propagationPolicy', 'What becomes of dependents: Background, Foreground or Orphan.'),
];

/** The paths of one kind, in OpenAPI v3. */
export function pathsOf(kind: Kind): Record<string, Json> {
  const root = kind.group === '' ? `/api/${kind.version}` : `/apis/${kind.group}/${kind.version}`;
  const collection = kind.namespaced
    ? `${root}/namespaces/{namespace}/${kind.plural}`
    : `${root}/${kind.plural}`;
  const scope = kind.namespaced ? [inPath('namespace', 'The namespace.')] : [];
  const named = [inPath('name', `Name of the ${kind.kind}.`), ...scope];
  const paths: Record<string, Json> = {
    [collection]: {
      get: operation(kind, 'list', listParameters),
      post: operation(kind, 'post', writeParameters, bodyOf(kind)),
      ...(kind.kind === 'Namespace' ? {} : { delete: operation(kind, 'deletecollection', listParameters) }),
      parameters: scope,
    },
    [`${collection}/{name}`]: {
      get: operation(kind, 'get', []),
      put: operation(kind, 'put', writeParameters, bodyOf(kind)),
      patch: patchOperation(kind),
      delete: operation(kind, 'delete', deleteParameters),
      parameters: named,
    },
  };
  if (kind.namespaced)
    paths[`${root}/${kind.plural}`] = { get: operation(kind, 'list', listParameters), parameters: [] };
  if (kind.status) paths[`${collection}/{name}/status`] = subresourcePath(kind, named);
  if (kind.scale !== undefined) paths[`${collection}/{name}/scale`] = scalePath(named);
  return paths;
}

function subresourcePath(kind: Kind, parameters: readonly Json[]): Json {
  return {
    get: operation(kind, 'get', []),
    put: operation(kind, 'put', writeParameters, bodyOf(kind)),
    patch: patchOperation(kind),
    parameters,
  };
}

function scalePath(parameters: readonly Json[]): Json {
  const scale = { group: 'autoscaling', version: 'v1', kind: 'Scale' };
  const of = (action: string) => ({
    responses: { '200': { description: 'OK', content: jsonOf('io.k8s.api.autoscaling.v1.Scale') } },
    'x-kubernetes-action': action,
    'x-kubernetes-group-version-kind': scale,
  });
  return { get: of('get'), put: of('put'), patch: of('patch'), parameters };
}

function operation(kind: Kind, action: string, parameters: readonly Json[], requestBody?: Json): Json {
  const { group, version } = kind;
  const answer = action === 'list' ? `${definitionName(kind)}List` : definitionName(kind);
  return {
    parameters,
    ...(requestBody === undefined ? {} : { requestBody }),
    responses: {
      '200': { description: 'OK', content: jsonOf(answer) },
      '401': { description: 'Unauthorized' },
    },
    'x-kubernetes-action': action,
    'x-kubernetes-group-version-kind': { group, version, kind: kind.kind },
  };
}

function patchOperation(kind: Kind): Json {
  const schema = referenceV3(`${metaPackage}.Patch`);
  const content = Object.fromEntries(supportedPatchTypes(kind).map((type) => [type, { schema }]));
  const force = query('force', 'Server-side apply only: take fields that others own.', 'boolean');
  return operation(kind, 'patch', [...writeParameters, force], { content, required: true });
}

function bodyOf(kind: Kind): Json {
  return { content: jsonOf(definitionName(kind)), required: true };
}

function jsonOf(name: string): Json {
  return { 'application/json': { schema: referenceV3(name) } };
}
