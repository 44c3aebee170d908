import { createHash } from 'node:crypto';
import type { Agent } from '#api/agent.ts';
import { managedByLabel, managedByValue } from '#api/labels.ts';
import type { ConfigMap, Secret } from '#api/meta.ts';
import { masterSecretName } from '#wire/keys.ts';
import { isTrue } from '../conditions.ts';
import type { DependencyFacts, Environment } from './facts.ts';

/** Reads of the caches that gathering needs; every lookup is by name in the Agent's namespace. */
export interface References {
  agent(namespace: string, name: string): Agent | undefined;
  secret(namespace: string, name: string): Secret | undefined;
  configMap(namespace: string, name: string): ConfigMap | undefined;
}

/**
 * Follows the references of `spec.env`, and looks whether those of `spec.code` lead anywhere. Values stay in memory;
 * the revision names only where those of `spec.env` came from: code that was fetched is not fetched again because the
 * credential is another.
 */
export function gatherEnvironment(agent: Agent, references: References): Environment {
  const values: Record<string, string> = {};
  const missing: string[] = [];
  const revision = createHash('sha256');
  for (const [index, entry] of (agent.spec.env ?? []).entries()) {
    const found = follow(agent, entry, references);
    if (found.value !== undefined) values[entry.name] = found.value;
    else if (!found.optional) missing.push(`spec.env[${index}] (${entry.name}): ${found.problem}.`);
    revision.update(`${entry.name}\n${found.origin}\n`);
  }
  missing.push(...missingForCode(agent, references));
  return { values, missing, revision: revision.digest('hex').slice(0, 16) };
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
  const { secretKeyRef, configMapKeyRef } = entry.valueFrom ?? {};
  if (secretKeyRef !== undefined || configMapKeyRef !== undefined) {
    return followRef(agent, { secretKeyRef, configMapKeyRef }, references);
  }
  return { value: entry.value ?? '', optional: false, problem: '', origin: 'value' };
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
    if (isOurs(secretKeyRef.name, secret))
      return { optional: false, problem: ours(secretKeyRef.name), origin: 'ours' };
    const encoded = secret?.data?.[secretKeyRef.key];
    const value = encoded === undefined ? undefined : Buffer.from(encoded, 'base64').toString('utf8');
    return foundIn('Secret', secretKeyRef, secret?.metadata.resourceVersion, value);
  }
  const { name = '', key = '', optional } = configMapKeyRef ?? {};
  const map = references.configMap(namespace, name);
  return foundIn('ConfigMap', { name, key, optional }, map?.metadata.resourceVersion, map?.data?.[key]);
}

/** Keys of the workspace and of other agents: an agent that could name them would be whoever it likes. */
function isOurs(name: string, secret: Secret | undefined): boolean {
  return name === masterSecretName || secret?.metadata.labels?.[managedByLabel] === managedByValue;
}

function ours(name: string): string {
  return `Secret "${name}" is Ploinky's own and no agent may read it; use another`;
}

function foundIn(
  kind: string,
  ref: { name: string; key: string; optional?: boolean | undefined },
  resourceVersion: string | undefined,
  value: string | undefined,
): Found {
  const absent =
    resourceVersion === undefined
      ? `${kind} "${ref.name}" does not exist`
      : `${kind} "${ref.name}" has no key "${ref.key}"`;
  return {
    ...(value === undefined ? {} : { value }),
    optional: ref.optional ?? false,
    problem: absent,
    origin: `${kind}/${ref.name}/${ref.key}@${value === undefined ? '' : resourceVersion}`,
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
