import { podDefaultsSchema } from '#api/pod-defaults.ts';
import { type JsonSchema, jsonSchemaOf } from '#api/schema/json-schema.ts';

/**
 * `charts/ploinky/values.schema.json`: nothing but the values that templates read, so that a misspelled one is refused
 * with its path. Draft 7, which every Helm 3 and 4 checks. Pure.
 */
export function valuesSchema(): JsonSchema {
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'Values of the chart ploinky',
    ...record(properties),
    // The release's own namespace is the only one then.
    if: { properties: { scope: { const: 'Namespaced' } } },
    // biome-ignore lint/suspicious/noThenProperty: a word of JSON Schema
    then: { properties: { agentNamespaces: { maxItems: 0 } } },
  };
}

const text: JsonSchema = { type: 'string' };
const yesOrNo: JsonSchema = { type: 'boolean' };
const anything: JsonSchema = { type: 'object' };
const texts: JsonSchema = { type: 'object', additionalProperties: text };
const port = whole(1, 65_535);
const label = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const namespace: JsonSchema = { type: 'string', pattern: `^${label}$`, maxLength: 63 };
const objectName: JsonSchema = {
  type: 'string',
  pattern: '^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$',
  maxLength: 253,
};
const host: JsonSchema = {
  type: 'string',
  pattern: `^(\\*\\.)?${label}(\\.${label})*$`,
  maxLength: 253,
  description: 'A host name, or *.name.',
};
const hosts = list(host);
const repository: JsonSchema = {
  type: 'string',
  pattern: '^[a-z0-9]([a-z0-9._/:-]*[a-z0-9])?$',
  description: 'Without tag and digest.',
};
const tag = pattern('^([A-Za-z0-9_][A-Za-z0-9._-]{0,127})?$');
const digest = pattern('^(sha256:[0-9a-f]{64})?$');
const quantities: JsonSchema = {
  type: 'object',
  additionalProperties: { anyOf: [text, { type: 'number' }] },
};
const userId: JsonSchema = { anyOf: [{ type: 'null' }, whole(1, 2_147_483_647)] };

/** Values that controller, router and egress proxy all have. */
const program: Readonly<Record<string, JsonSchema>> = {
  replicas: whole(1, 100),
  resources: record({ requests: quantities, limits: quantities, claims: list(anything) }),
  podAnnotations: texts,
  podLabels: texts,
  nodeSelector: texts,
  tolerations: list(anything),
  affinity: anything,
  topologySpreadConstraints: { anyOf: [{ type: 'null' }, list(anything)] },
  priorityClassName: text,
  terminationGracePeriodSeconds: whole(1, 3_600),
  extraArgs: list(pattern('^--[a-z][a-z-]*=')),
};

const router: Readonly<Record<string, JsonSchema>> = {
  ...program,
  drainSeconds: whole(0, 3_500),
  allowHosts: hosts,
  publicUrl: pattern('^(https?://[^?#@\\s]+)?$'),
  trustProxies: list(pattern('^[0-9a-fA-F.:]+(/[0-9]{1,3})?$')),
  issuerHosts: list(pattern('^(https?://)?[A-Za-z0-9.:\\[\\]-]+$')),
  allowOrigins: list(pattern('^https?://[^/?#@,\\s]+$')),
  service: record({
    type: { enum: ['ClusterIP', 'NodePort', 'LoadBalancer'] },
    port,
    annotations: texts,
  }),
};

const networkPolicy: Readonly<Record<string, JsonSchema>> = {
  enabled: yesOrNo,
  apiServer: record({
    cidrs: list(pattern('^[0-9a-fA-F.:]+/[0-9]{1,3}$')),
    ports: list(port, { minItems: 1 }),
  }),
  routerFrom: list(anything),
  metricsFrom: list(anything),
  routerTo: list(anything),
};

const ingress: Readonly<Record<string, JsonSchema>> = {
  enabled: yesOrNo,
  className: text,
  annotations: texts,
  hosts,
  path: pattern('^/'),
  tls: list(record({ hosts, secretName: objectName })),
};

const properties: Readonly<Record<string, JsonSchema>> = {
  global: anything,
  image: record({ repository, tag, digest, pullPolicy: { enum: ['Always', 'IfNotPresent', 'Never'] } }),
  agentImage: record({ repository, tag, digest }),
  bundleImage: record({ repository: orEmpty(repository), tag, digest }),
  bundle: { enum: ['Auto', 'ImageVolume', 'InitCopy'] },
  imagePullSecrets: list({ ...record({ name: objectName }), required: ['name'] }),
  scope: { enum: ['Cluster', 'Namespaced'] },
  agentNamespaces: list(namespace, { uniqueItems: true }),
  crds: record({ install: yesOrNo }),
  userRoles: record({ create: { enum: ['auto', true, false] } }),
  controller: record({ ...program, leaseSeconds: whole(5, 600) }),
  router: record(router),
  egress: record(program),
  securityContext: record({ runAsUser: userId, runAsGroup: userId }),
  storage: record({ accessMode: { enum: ['Auto', 'ReadWriteOnce', 'ReadWriteOncePod'] } }),
  hostClaims: {
    type: 'object',
    propertyNames: namespace,
    additionalProperties: list(host, { minItems: 1 }),
  },
  // What the controller reads; it checks the rules that JSON Schema cannot say.
  podDefaults: withoutExtensions(jsonSchemaOf(podDefaultsSchema)),
  sharedClaim: orEmpty(objectName),
  pdb: record({
    enabled: yesOrNo,
    maxUnavailable: { anyOf: [{ type: 'integer', minimum: 0 }, pattern('^[0-9]{1,3}%$')] },
  }),
  networkPolicy: record(networkPolicy),
  metrics: record({ enabled: yesOrNo }),
  serviceMonitor: record({ enabled: yesOrNo, interval: pattern('^([0-9]+(ms|s|m|h))+$'), labels: texts }),
  ingress: record(ingress),
  httpRoute: record({
    enabled: yesOrNo,
    annotations: texts,
    parentRefs: list({ type: 'object', required: ['name'] }),
    hostnames: hosts,
  }),
  test: record({ timeoutSeconds: whole(10, 3_600) }),
};

function record(members: Readonly<Record<string, JsonSchema>>): JsonSchema {
  return { type: 'object', additionalProperties: false, properties: members };
}

function list(items: JsonSchema, more: JsonSchema = {}): JsonSchema {
  return { type: 'array', items, ...more };
}

function whole(minimum: number, maximum: number): JsonSchema {
  return { type: 'integer', minimum, maximum };
}

function pattern(source: string): JsonSchema {
  return { type: 'string', pattern: source };
}

function orEmpty(schema: JsonSchema): JsonSchema {
  return { anyOf: [{ const: '' }, schema] };
}

/** Rules in CEL and the like mean nothing to Helm. */
function withoutExtensions(schema: JsonSchema): JsonSchema {
  return JSON.parse(JSON.stringify(schema, (name, value) => (name.startsWith('x-') ? undefined : value)));
}
