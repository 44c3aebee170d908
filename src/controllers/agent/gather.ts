import { createHash } from 'node:crypto';
import type { Agent } from '#api/agent.ts';
import type { ConfigMap, Secret } from '#api/meta.ts';
import { secretsSecretName } from '#api/secrets.ts';
import type { MasterKey } from '#wire/keys.ts';
import { isTrue } from '../conditions.ts';
import { isOwnSecret } from '../own-secret.ts';
import { type AliasSource, followAlias, secretSourceName } from './aliases.ts';
import { deriveSecret } from './derive.ts';
import type { DependencyFacts, Environment } from './facts.ts';

/** Reads of the caches that gathering needs; every lookup is by name in the Agent's namespace. */
export interface References {
  agent(namespace: string, name: string): Agent | undefined;
  secret(namespace: string, name: string): Secret | undefined;
  configMap(namespace: string, name: string): ConfigMap | undefined;
  /** Where names are looked up that Secret `ploinky-secrets` of the namespace does not have. Default: nowhere. */
  readonly aliasSources?: readonly AliasSource[];
  /** What `derive` derives from; undefined while it is not there yet. */
  masterKey?(): MasterKey | undefined;
}

/**
 * Follows the references of `spec.env`, and looks whether those of `spec.code` lead anywhere. Values stay in memory;
 * the revision says only which those of `spec.env` are: code that was fetched is not fetched again because the
 * credential is another.
 */
export function gatherEnvironment(agent: Agent, references: References): Environment {
  const values: Record<string, string> = {};
  const missing: string[] = [];
  const secrets: string[] = [];
  const revision = createHash('sha256');
  for (const [index, entry] of (agent.spec.env ?? []).entries()) {
    const found = follow(agent, entry, references);
    if (found.value !== undefined) values[entry.name] = found.value;
    else if (!found.optional) missing.push(`spec.env[${index}] (${entry.name}): ${found.problem}.`);
    if (isSecret(entry)) secrets.push(entry.name);
    revision.update(`${entry.name}\n${found.origin}\n`);
  }
  missing.push(...missingForCode(agent, references));
  return { values, missing, secrets, revision: revision.digest('hex').slice(0, 16) };
}

function isSecret({ valueFrom }: EnvVar): boolean {
  return valueFrom !== undefined && valueFrom.configMapKeyRef === undefined;
}

function missingForCode(agent: Agent, references: References): string[] {
  const missing = codeReferences(agent).flatMap(({ field, ...ref }) => {
    const { value, optional, problem } = followRef(agent, ref, references);
    return value !== undefined || optional ? [] : [`${field}: ${problem}.`];
  });
  const map = codeMapOf(agent);
  if (map === undefined || references.configMap(namespaceOf(agent), map) !== undefined) return missing;
  return [...missing, `spec.code.configMap.name: ConfigMap "${map}" does not exist.`];
}

/** Name of the ConfigMap that is mounted as code, whatever its keys are. */
export function codeMapOf({ spec }: Pick<Agent, 'spec'>): string | undefined {
  return spec.code?.configMap?.name;
}

function namespaceOf({ metadata }: Agent): string {
  return metadata.namespace ?? 'default';
}

/** A reference with the path of the field that makes it. */
export interface NamedReference extends Ref {
  readonly field: string;
}

/** What the fetch of a git source needs from the Agent's namespace. */
export function codeReferences({ spec }: Pick<Agent, 'spec'>): NamedReference[] {
  const { credentials, ca } = spec.code?.git ?? {};
  return [
    ...(credentials === undefined ? [] : [{ field: 'spec.code.git.credentials', secretKeyRef: credentials }]),
    ...(ca === undefined ? [] : [{ field: 'spec.code.git.ca', ...ca }]),
  ];
}

export interface Found {
  readonly value?: string;
  readonly optional: boolean;
  readonly problem: string;
  readonly origin: string;
}

type EnvVar = NonNullable<Agent['spec']['env']>[number];

function follow(agent: Agent, entry: EnvVar, references: References): Found {
  const { secretKeyRef, configMapKeyRef, alias, derive } = entry.valueFrom ?? {};
  if (alias !== undefined) {
    return { ...followAlias(alias, aliasSourcesOf(agent, references)), optional: false };
  }
  if (derive !== undefined) return derived(agent, derive, references);
  if (secretKeyRef !== undefined || configMapKeyRef !== undefined) {
    return followRef(agent, { secretKeyRef, configMapKeyRef }, references);
  }
  return { value: entry.value ?? '', optional: false, problem: '', origin: 'value' };
}

/** The Secret of the namespace, then what the workspace has. */
function aliasSourcesOf(agent: Agent, references: References): AliasSource[] {
  const inSecret: AliasSource = {
    name: secretSourceName,
    followsAliases: true,
    lookup(name) {
      const secret = references.secret(namespaceOf(agent), secretsSecretName);
      const text = decode(secret?.data?.[name]);
      return secret === undefined || text === undefined
        ? undefined
        : { text, revision: revisionIn(secret, name, text) };
    },
  };
  return [inSecret, ...(references.aliasSources ?? [])];
}

type Derive = NonNullable<NonNullable<EnvVar['valueFrom']>['derive']>;

/** The master key's id is part of the origin: another master, another value. */
function derived(agent: Agent, derive: Derive, references: References): Found {
  const master = references.masterKey?.();
  const origin = `derive/${derive.name}@${master?.kid ?? ''}`;
  if (master === undefined) return { optional: true, problem: '', origin };
  const value = deriveSecret(master, { namespace: namespaceOf(agent), name: agent.metadata.name }, derive);
  return { value, optional: false, problem: '', origin };
}

export interface KeyRef {
  readonly name: string;
  readonly key: string;
  readonly optional?: boolean | undefined;
}

/** One of the two. */
export interface Ref {
  readonly secretKeyRef?: KeyRef | undefined;
  readonly configMapKeyRef?: KeyRef | undefined;
}

/** The value that a reference leads to, else why it leads nowhere. */
export function followRef(
  agent: Agent,
  { secretKeyRef, configMapKeyRef }: Ref,
  references: References,
): Found {
  const namespace = namespaceOf(agent);
  if (secretKeyRef !== undefined) {
    const secret = references.secret(namespace, secretKeyRef.name);
    if (isOwnSecret(secretKeyRef.name, secret))
      return { optional: false, problem: ours(secretKeyRef.name), origin: 'ours' };
    const value = decode(secret?.data?.[secretKeyRef.key]);
    const revision =
      secret === undefined || value === undefined ? undefined : revisionIn(secret, secretKeyRef.key, value);
    return foundIn('Secret', secretKeyRef, { isThere: secret !== undefined, value, revision });
  }
  const { name = '', key = '', optional } = configMapKeyRef ?? {};
  const map = references.configMap(namespace, name);
  const revision = map?.metadata.resourceVersion;
  return foundIn(
    'ConfigMap',
    { name, key, optional },
    { isThere: map !== undefined, value: map?.data?.[key], revision },
  );
}

function decode(data: string | undefined): string | undefined {
  return data === undefined ? undefined : Buffer.from(data, 'base64').toString('utf8');
}

/**
 * Another one when the value of this key is another, whatever becomes of the Secret's other keys. The Secret's uid is
 * in it, which only those know who may read the Secret: nobody else can try values until the digest is the same.
 */
function revisionIn({ metadata }: Secret, key: string, value: string): string {
  const parts = [metadata.uid ?? metadata.resourceVersion ?? '', key, value];
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32);
}

function ours(name: string): string {
  return `Secret "${name}" is Ploinky's own and no agent may read it; use another`;
}

function foundIn(
  kind: string,
  ref: { name: string; key: string; optional?: boolean | undefined },
  {
    isThere,
    value,
    revision = '',
  }: { isThere: boolean; value: string | undefined; revision: string | undefined },
): Found {
  const absent = isThere
    ? `${kind} "${ref.name}" has no key "${ref.key}"`
    : `${kind} "${ref.name}" does not exist`;
  return {
    ...(value === undefined ? {} : { value }),
    optional: ref.optional ?? false,
    problem: absent,
    origin: `${kind}/${ref.name}/${ref.key}@${value === undefined ? '' : revision}`,
  };
}

/** Which dependencies are absent, not Ready, or lead back to the Agent itself. */
export function gatherDependencies(agent: Agent, references: References): DependencyFacts {
  const namespace = namespaceOf(agent);
  const missing: string[] = [];
  const waiting: string[] = [];
  for (const { name, wait } of agent.spec.dependsOn ?? []) {
    if (wait === 'None') continue;
    const dependency = references.agent(namespace, name);
    if (dependency === undefined) missing.push(name);
    else if (!isTrue(dependency.status?.conditions, 'Ready')) waiting.push(name);
  }
  return { missing, waiting, cycle: findCycle(agent, references) };
}

/** The shortest way from the Agent back to itself over dependencies that are waited for; [] when there is none. */
function findCycle(agent: Agent, references: References): string[] {
  const start = agent.metadata.name;
  const namespace = namespaceOf(agent);
  const queue: string[][] = [[start]];
  const seen = new Set<string>();
  for (let path = queue.shift(); path !== undefined; path = queue.shift()) {
    const last = path.at(-1) ?? start;
    const node = path.length === 1 ? agent : references.agent(namespace, last);
    for (const next of node?.spec.dependsOn ?? []) {
      if (next.wait === 'None') continue;
      if (next.name === start) return [...path, start];
      if (seen.has(next.name)) continue;
      seen.add(next.name);
      queue.push([...path, next.name]);
    }
  }
  return [];
}
