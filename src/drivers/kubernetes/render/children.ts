import type { AccessMode, NetworkPolicy, PersistentVolumeClaim, Pod } from '#api/cluster-kinds.ts';
import { apiVersion } from '#api/group.ts';
import { specHashAnnotation } from '#api/labels.ts';
import type { ConfigMap, KubeObject, ObjectMeta, OwnerReference, Secret } from '#api/meta.ts';
import { digestOf } from '#kit/digest.ts';
import { agentServerConfig } from '../../shared/environment.ts';
import type { Workload, WorkloadId } from '../../workload.ts';
import {
  agentSecretName,
  agentSecretType,
  childLabels,
  claimName,
  codeConfigMapName,
  codeRevisionAnnotation,
  contentDigestAnnotation,
  installSecretName,
  networkPolicyName,
} from '../names.ts';
import type { PodSettings } from '../settings.ts';
import { inlineData } from './code.ts';
import { environmentKey, hasProgram } from './containers.ts';
import { gitConfig } from './git.ts';
import { installStepConfig } from './install.ts';
import { networkPolicySpec } from './network-policy.ts';
import { drainMsOf } from './overlay.ts';
import { renderPod } from './pod.ts';
import { podView } from './view.ts';

export interface ChildOptions {
  /** Owner of every child that goes with the Agent. Default: the Agent. */
  readonly owner?: OwnerReference;
  /** Commit that the git source of this spec is pinned to, once it is known. */
  readonly commit?: string | undefined;
  /** Of workspace volumes that are made now. */
  readonly accessMode?: AccessMode;
}

/** Everything that stands for one workload in the API. */
export interface Children {
  readonly agentSecret: Secret;
  readonly installSecret: Secret | undefined;
  readonly codeConfigMap: ConfigMap | undefined;
  readonly networkPolicy: NetworkPolicy;
  /** One a replica, in the order of slots; empty without `storage.size`. */
  readonly claims: readonly PersistentVolumeClaim[];
  pod(slot: number, name: string): Pod;
}

/** Pure: equal arguments give equal objects. Throws TerminalError for what cannot be rendered, also from `pod`. */
export function renderChildren(
  workload: Workload,
  settings: PodSettings,
  options: ChildOptions = {},
): Children {
  const owner = options.owner ?? agentOwner(workload.id);
  const slots = Array.from({ length: workload.runtime.replicas }, (_, slot) => slot);
  return {
    agentSecret: agentSecret(workload, settings, owner),
    installSecret: installSecret(workload, settings, owner, options.commit),
    codeConfigMap: codeConfigMap(workload, owner),
    networkPolicy: withDigest<NetworkPolicy>({
      apiVersion: 'networking.k8s.io/v1',
      kind: 'NetworkPolicy',
      metadata: metadataOf(workload, networkPolicyName(workload.id.name), owner),
      spec: networkPolicySpec(workload, settings),
    }),
    claims: slots.flatMap((slot) => claimOf(workload, slot, owner, options.accessMode)),
    pod: (slot, name) => renderPod(workload, settings, { slot, name, owner }),
  };
}

/** The Agent owns what is made for it, so that it all goes with it. */
export function agentOwner({ name, uid }: WorkloadId): OwnerReference {
  return { apiVersion, kind: 'Agent', name, uid, controller: true, blockOwnerDeletion: false };
}

function metadataOf(workload: Workload, name: string, owner: OwnerReference): ObjectMeta {
  const { namespace } = workload.id;
  return { name, namespace, labels: childLabels(workload), ownerReferences: [owner] };
}

/** Marks what an object holds, so that one look tells whether it has to be written. */
function withDigest<T extends KubeObject>(object: T): T {
  const annotations = { ...object.metadata.annotations, [contentDigestAnnotation]: digestOf(object) };
  return { ...object, metadata: { ...object.metadata, annotations } };
}

function agentSecret(workload: Workload, settings: PodSettings, owner: OwnerReference): Secret {
  const { command: _command, limits, ...rest } = workload.agentServer;
  const agentServer = { ...rest, limits: { drainMs: drainMsOf(workload, settings), ...limits } };
  const view = podView(workload, settings);
  const config = agentServerConfig({ ...workload, agentServer }, view, '');
  const own = hasProgram(workload) ? Object.entries(workload.agentServer.env) : [];
  const variables = own.map(([name, value]) => [environmentKey(name), base64(value)] as const);
  return withDigest<Secret>({
    apiVersion: 'v1',
    kind: 'Secret',
    type: agentSecretType,
    metadata: metadataOf(workload, agentSecretName(workload.id.name), owner),
    data: { 'config.json': base64(JSON.stringify(config)), ...Object.fromEntries(variables) },
  });
}

function installSecret(
  workload: Workload,
  settings: PodSettings,
  owner: OwnerReference,
  commit: string | undefined,
): Secret | undefined {
  const install = installStepConfig(workload, settings);
  const git = gitConfig(workload, settings, commit);
  if (install === undefined && git === undefined) return undefined;
  const pin = commit === undefined ? {} : { [codeRevisionAnnotation]: commit };
  const metadata = metadataOf(workload, installSecretName(workload.id.name), owner);
  return withDigest<Secret>({
    apiVersion: 'v1',
    kind: 'Secret',
    type: agentSecretType,
    metadata: { ...metadata, annotations: { [specHashAnnotation]: workload.specHash, ...pin } },
    data: {
      ...(install === undefined ? {} : { 'install.json': base64(JSON.stringify(install)) }),
      ...(git === undefined ? {} : { 'git.json': base64(JSON.stringify(git)) }),
    },
  });
}

/** Commit that an install Secret says its spec is pinned to, when it is this spec. */
export function pinnedCommit(secret: Secret | undefined, specHash: string): string | undefined {
  const { annotations = {} } = secret?.metadata ?? {};
  return annotations[specHashAnnotation] === specHash ? annotations[codeRevisionAnnotation] : undefined;
}

function codeConfigMap(workload: Workload, owner: OwnerReference): ConfigMap | undefined {
  const data = inlineData(workload.code);
  if (data === undefined) return undefined;
  const metadata = metadataOf(workload, codeConfigMapName(workload.id.name, data), owner);
  return withDigest<ConfigMap>({ apiVersion: 'v1', kind: 'ConfigMap', metadata, immutable: true, data });
}

/** Without an owner when it outlives the Agent: one of the same name finds it again. */
function claimOf(
  workload: Workload,
  slot: number,
  owner: OwnerReference,
  accessMode: AccessMode = 'ReadWriteOnce',
): PersistentVolumeClaim[] {
  const { size, storageClassName, retain } = workload.storage;
  if (size === undefined) return [];
  const metadata = metadataOf(workload, claimName(workload.id.name, slot), owner);
  return [
    withDigest<PersistentVolumeClaim>({
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { ...metadata, ownerReferences: retain ? [] : [owner] },
      spec: {
        accessModes: [accessMode],
        ...(storageClassName === undefined ? {} : { storageClassName }),
        resources: { requests: { storage: String(size) } },
      },
    }),
  ];
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}
