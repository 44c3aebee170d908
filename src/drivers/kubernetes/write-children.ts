import {
  type AccessMode,
  networkPolicyResource,
  type PersistentVolumeClaim,
  persistentVolumeClaimResource,
} from '#api/cluster-kinds.ts';
import { agentUidLabel, managedByLabel, managedByValue } from '#api/labels.ts';
import type { KubeObject, Resource, Secret } from '#api/meta.ts';
import { configMapResource, secretResource } from '#api/resources.ts';
import { CodedError, type TerminalError } from '#kit/errors.ts';
import { canonicalJson } from '#kit/json.ts';
import type { Client } from '#kube/client.ts';
import { isAlreadyExists, isConflict, isForbidden } from '#kube/errors.ts';
import { keyOf, type ObjectKey } from '#kube/key.ts';
import { driverError } from '../errors.ts';
import type { Workload, WorkloadId } from '../workload.ts';
import { checkAuthority } from './authority.ts';
import type { Caches } from './caches.ts';
import { type CodeMaps, createCodeMaps } from './code-maps.ts';
import { claimName, contentDigestAnnotation, installSecretName, mayBecomeOwnSecret } from './names.ts';
import { fieldManager, type KubernetesDriverOptions } from './options.ts';
import { type Children, pinnedCommit, renderChildren } from './render/children.ts';
import { isOwnSecret, namedSecrets } from './render/overlay.ts';
import type { ObjectSource } from './source.ts';
import { createAccessModes } from './storage-classes.ts';

export interface Writer {
  readonly options: KubernetesDriverOptions;
  readonly caches: Caches;
  /** Access mode for claims that are made now. */
  accessMode(storageClassName: string | undefined): Promise<AccessMode>;
  readonly codeMaps: CodeMaps;
  /** `namespace/name` of claims that are there and that somebody else made. */
  readonly foreignClaims: Set<string>;
}

export function createWriter(options: KubernetesDriverOptions, caches: Caches): Writer {
  return {
    options,
    caches,
    accessMode: createAccessModes(options.client, options.settings.accessMode),
    codeMaps: createCodeMaps(options),
    foreignClaims: new Set(),
  };
}

/**
 * Makes the children of a workload be what it says, pods apart: one write for each that is absent or other, none
 * else. `commit` is what a pod found out; once written it is what every later pod fetches. Throws TerminalError and
 * ApiError.
 */
export async function writeChildren(
  writer: Writer,
  workload: Workload,
  commit: string | undefined,
): Promise<Children> {
  const { options, caches } = writer;
  refuseForeignSecrets(options.secrets, workload);
  checkAuthority(options, workload);
  const { namespace, name } = workload.id;
  const pinned = pinnedCommit(
    options.secrets.get({ namespace, name: installSecretName(name) }),
    workload.specHash,
  );
  const children = renderChildren(workload, options.settings, {
    ...(options.owner === undefined ? {} : { owner: options.owner(workload.id) }),
    commit: pinned ?? commit,
    accessMode: workload.storage.size === undefined ? 'ReadWriteOnce' : await accessModeOf(writer, workload),
  });
  const { agentSecret, installSecret, codeConfigMap, networkPolicy } = children;
  const policies: ObjectSource<typeof networkPolicy> = {
    get: (key) => caches.policies.cache.get(key),
    isSynced: () => true,
    observe: (object) => caches.policies.observe(object),
    subscribe: () => () => undefined,
  };
  await Promise.all([
    writeChild(writer, options.secrets, secretResource, agentSecret),
    installSecret && writeChild(writer, options.secrets, secretResource, installSecret),
    codeConfigMap && writeChild(writer, writer.codeMaps.source, configMapResource, codeConfigMap),
    writeChild(writer, policies, networkPolicyResource, networkPolicy),
    ...children.claims.map((claim) => writeClaim(writer, claim)),
  ]);
  return children;
}

/**
 * An author may use the Secrets of the namespace, not those that hold other agents' keys: neither one that is there
 * nor one that the pod would find in its place once another Agent is made.
 */
function refuseForeignSecrets(secrets: ObjectSource<Secret>, workload: Workload): void {
  const { namespace } = workload.id;
  for (const { field, name } of namedSecrets(workload)) {
    const secret = secrets.get({ namespace, name });
    const isOwn = secret === undefined ? mayBecomeOwnSecret(name) : isOwnSecret(secret);
    if (!isOwn) continue;
    const why =
      secret === undefined
        ? 'is not there, and the name is one that the controller gives; make it first, or choose another name'
        : "is the controller's own and not for agents";
    throw driverError('PodTemplate', `${field}: Secret "${name}" ${why}.`);
  }
}

async function writeChild<T extends KubeObject>(
  { options, caches }: Writer,
  source: ObjectSource<T>,
  resource: Resource,
  object: T,
): Promise<void> {
  const key = keyOf(object);
  const known = source.get(key) ?? (await askFor<T>(options, source, resource, key));
  if (known !== undefined) {
    refuseForeign(known);
    if (isSame(known, object)) return;
  }
  // What is not known may be there all the same, without our label: its owner's fields are not taken away.
  const force = known !== undefined;
  try {
    const written = await options.client.apply<T>(resource, object, { fieldManager, force });
    caches.quietly(() => source.observe(written));
  } catch (error) {
    throw !force && isConflict(error) ? foreign(object, error) : error;
  }
}

/** A namespace that is not read yet says nothing by not having an object. Who may not ask writes all the same. */
async function askFor<T extends KubeObject>(
  { client }: KubernetesDriverOptions,
  source: ObjectSource<T>,
  resource: Resource,
  key: ObjectKey,
): Promise<T | undefined> {
  if (source.isSynced(key.namespace)) return undefined;
  return client.find<T>(resource, key).catch((error: unknown) => {
    if (isForbidden(error)) return undefined;
    throw error;
  });
}

function refuseForeign(known: KubeObject): void {
  if (known.metadata.labels?.[managedByLabel] !== managedByValue) throw foreign(known);
}

function foreign({ kind, metadata }: KubeObject, cause?: unknown): TerminalError {
  const message = `${kind} "${metadata.name}" is there and not the controller's; rename it or the Agent.`;
  return driverError('PodTemplate', message, cause);
}

/** By digest; a policy that somebody changed by hand is compared itself: nobody else notices. */
function isSame(known: KubeObject, wanted: KubeObject): boolean {
  const digest = ({ metadata }: KubeObject) => metadata.annotations?.[contentDigestAnnotation];
  if (digest(known) !== digest(wanted)) return false;
  return specOf(wanted) === undefined || canonicalJson(specOf(known)) === canonicalJson(specOf(wanted));
}

function specOf(object: KubeObject): unknown {
  return 'spec' in object ? object.spec : undefined;
}

/** Claims that are there keep their mode: it cannot be changed. */
async function accessModeOf(writer: Writer, { id, storage }: Workload): Promise<AccessMode> {
  const [known] = writer.caches.claimsOf(id.uid);
  return known?.spec.accessModes?.[0] ?? (await writer.accessMode(storage.storageClassName));
}

/** One that an earlier Agent of the name left is taken over as it is, whatever it was made with. */
async function writeClaim(writer: Writer, claim: PersistentVolumeClaim): Promise<void> {
  const { options, caches, foreignClaims } = writer;
  const key = keyOf(claim);
  const text = `${key.namespace}/${key.name}`;
  const known = caches.claims.cache.get(key);
  if (known === undefined && foreignClaims.has(text)) return;
  try {
    const written =
      known === undefined
        ? await options.client.create(persistentVolumeClaimResource, claim, { fieldManager })
        : await adoptClaim(options.client, known, claim);
    if (written !== undefined) caches.quietly(() => caches.claims.observe(written));
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    foreignClaims.add(text);
  }
}

/** The next Agent of the name looks again: whoever made the claims may have taken them away. */
export function forgetClaims({ foreignClaims }: Writer, { namespace, name }: WorkloadId): void {
  const prefix = `${namespace}/${claimName(name, 0)}`.slice(0, -1);
  for (const text of foreignClaims) if (text.startsWith(prefix)) foreignClaims.delete(text);
}

async function adoptClaim(
  client: Client,
  known: PersistentVolumeClaim,
  claim: PersistentVolumeClaim,
): Promise<PersistentVolumeClaim | undefined> {
  if (known.metadata.deletionTimestamp !== undefined) return undefined;
  const digest = contentDigestAnnotation;
  const isOurs = known.metadata.labels?.[agentUidLabel] === claim.metadata.labels?.[agentUidLabel];
  if (isOurs && known.metadata.annotations?.[digest] === claim.metadata.annotations?.[digest])
    return undefined;
  // The owner before was deleted and its claim goes with it: this one's comes after that.
  if (!isOurs && (known.metadata.ownerReferences?.length ?? 0) > 0) {
    throw new CodedError('ClaimGoing', `the claim ${known.metadata.name} of an earlier Agent is still going`);
  }
  const { labels, annotations, ownerReferences } = claim.metadata;
  const metadata = { labels, annotations, ownerReferences };
  // What an earlier Agent left is taken as it is: a size that cannot be had would be no reason to run without it.
  const body = isOurs ? { metadata, spec: { resources: claim.spec.resources } } : { metadata };
  return client.patch(persistentVolumeClaimResource, keyOf(known), { type: 'merge', body }, { fieldManager });
}
