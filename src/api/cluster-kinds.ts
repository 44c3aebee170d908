import type { KubeObject, Resource } from './meta.ts';

/*
 * Kinds that only a cluster has, with the fields that this project reads and writes. Not in `resources`: the
 * workspace's own API does not serve them.
 */

export const podResource: Resource = core('Pod', 'pods');
export const persistentVolumeClaimResource: Resource = core(
  'PersistentVolumeClaim',
  'persistentvolumeclaims',
);
export const nodeResource: Resource = { ...core('Node', 'nodes'), namespaced: false };
export const networkPolicyResource: Resource = {
  group: 'networking.k8s.io',
  version: 'v1',
  kind: 'NetworkPolicy',
  plural: 'networkpolicies',
  namespaced: true,
};
export const storageClassResource: Resource = {
  group: 'storage.k8s.io',
  version: 'v1',
  kind: 'StorageClass',
  plural: 'storageclasses',
  namespaced: false,
};

export interface Pod extends KubeObject {
  apiVersion: 'v1';
  kind: 'Pod';
  spec: PodSpec;
  status?: PodStatus;
}

export interface PodSpec {
  nodeName?: string;
  restartPolicy?: 'Always' | 'OnFailure' | 'Never';
  activeDeadlineSeconds?: number;
  terminationGracePeriodSeconds?: number;
  automountServiceAccountToken?: boolean;
  enableServiceLinks?: boolean;
  dnsPolicy?: 'ClusterFirst' | 'Default' | 'None';
  dnsConfig?: { nameservers?: string[] };
  securityContext?: PodSecurityContext;
  initContainers?: Container[];
  containers: Container[];
  volumes?: Volume[];
  imagePullSecrets?: { name: string }[];
  nodeSelector?: Record<string, string>;
  tolerations?: Toleration[];
  /** As in a Pod; checked by the API alone. */
  affinity?: Record<string, unknown>;
  topologySpreadConstraints?: Record<string, unknown>[];
  runtimeClassName?: string;
  priorityClassName?: string;
}

export interface PodSecurityContext {
  runAsNonRoot?: boolean;
  runAsUser?: number;
  runAsGroup?: number;
  fsGroup?: number;
  fsGroupChangePolicy?: 'Always' | 'OnRootMismatch';
  seccompProfile?: { type: 'RuntimeDefault' | 'Unconfined' };
}

export interface SecurityContext {
  allowPrivilegeEscalation?: boolean;
  readOnlyRootFilesystem?: boolean;
  capabilities?: { drop?: string[]; add?: string[] };
}

export interface Toleration {
  key?: string | undefined;
  operator?: 'Exists' | 'Equal' | undefined;
  value?: string | undefined;
  effect?: 'NoSchedule' | 'PreferNoSchedule' | 'NoExecute' | undefined;
  tolerationSeconds?: number | undefined;
}

export interface Container {
  name: string;
  image: string;
  imagePullPolicy?: 'Always' | 'IfNotPresent' | 'Never';
  /** `Always` makes an init container a sidecar. */
  restartPolicy?: 'Always';
  command?: string[];
  args?: string[];
  workingDir?: string;
  env?: EnvVar[];
  ports?: { name?: string; containerPort: number; protocol?: 'TCP' }[];
  resources?: ResourceRequirements;
  volumeMounts?: VolumeMount[];
  startupProbe?: Probe;
  readinessProbe?: Probe;
  livenessProbe?: Probe;
  lifecycle?: { preStop?: { httpGet: { path: string; port: string | number } } };
  securityContext?: SecurityContext;
  terminationMessagePolicy?: 'File' | 'FallbackToLogsOnError';
}

/** Quantities as text or number. */
export interface ResourceRequirements {
  limits?: Record<string, string | number>;
  requests?: Record<string, string | number>;
}

export interface EnvVar {
  name: string;
  value?: string;
  valueFrom?: {
    fieldRef?: { fieldPath: string };
    secretKeyRef?: { name: string; key: string; optional?: boolean };
  };
}

export interface VolumeMount {
  name: string;
  mountPath: string;
  subPath?: string | undefined;
  readOnly?: boolean | undefined;
}

export interface Probe {
  httpGet?: { path: string; port: string | number };
  periodSeconds?: number;
  timeoutSeconds?: number;
  failureThreshold?: number;
}

export interface KeyToPath {
  key: string;
  path: string;
}

export interface Volume {
  name: string;
  configMap?:
    | { name: string; items?: KeyToPath[] | undefined; optional?: boolean; defaultMode?: number }
    | undefined;
  secret?:
    | { secretName: string; items?: KeyToPath[] | undefined; optional?: boolean; defaultMode?: number }
    | undefined;
  persistentVolumeClaim?: { claimName: string; readOnly?: boolean | undefined } | undefined;
  emptyDir?: { sizeLimit?: string | undefined; medium?: 'Memory' } | undefined;
  image?: { reference: string; pullPolicy?: 'Always' | 'IfNotPresent' | 'Never' } | undefined;
}

export interface PodStatus {
  phase?: 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Unknown';
  reason?: string;
  message?: string;
  podIP?: string;
  startTime?: string;
  conditions?: PodCondition[];
  initContainerStatuses?: ContainerStatus[];
  containerStatuses?: ContainerStatus[];
}

export interface PodCondition {
  type: string;
  status: 'True' | 'False' | 'Unknown';
  reason?: string;
  message?: string;
  lastTransitionTime?: string | null;
}

export interface ContainerStatus {
  name: string;
  ready: boolean;
  started?: boolean;
  restartCount: number;
  state?: ContainerState;
  lastState?: ContainerState;
  /** What the kubelet has given it; of newer clusters. */
  resources?: { limits?: Readonly<Record<string, string | number>> };
}

export interface ContainerState {
  waiting?: { reason?: string; message?: string };
  running?: { startedAt?: string };
  terminated?: TerminatedState;
}

export interface TerminatedState {
  exitCode: number;
  signal?: number;
  reason?: string;
  message?: string;
  startedAt?: string | null;
  finishedAt?: string | null;
}

export type AccessMode = 'ReadWriteOnce' | 'ReadWriteOncePod' | 'ReadWriteMany' | 'ReadOnlyMany';

export interface PersistentVolumeClaim extends KubeObject {
  apiVersion: 'v1';
  kind: 'PersistentVolumeClaim';
  spec: {
    accessModes?: AccessMode[];
    storageClassName?: string;
    resources?: ResourceRequirements;
    volumeName?: string;
  };
  status?: { phase?: 'Pending' | 'Bound' | 'Lost' };
}

export interface LabelSelector {
  matchLabels?: Record<string, string>;
  matchExpressions?: {
    key: string;
    operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
    values?: string[];
  }[];
}

/** Every selector of one peer has to match; several peers are alternatives. */
export interface NetworkPolicyPeer {
  namespaceSelector?: LabelSelector;
  podSelector?: LabelSelector;
  ipBlock?: { cidr: string; except?: string[] };
}

export interface NetworkPolicyPort {
  protocol?: 'TCP' | 'UDP' | 'SCTP';
  port?: number | string;
}

export interface NetworkPolicy extends KubeObject {
  apiVersion: 'networking.k8s.io/v1';
  kind: 'NetworkPolicy';
  spec: {
    podSelector: LabelSelector;
    policyTypes?: ('Ingress' | 'Egress')[];
    ingress?: { from?: NetworkPolicyPeer[]; ports?: NetworkPolicyPort[] }[];
    egress?: { to?: NetworkPolicyPeer[]; ports?: NetworkPolicyPort[] }[];
  };
}

export interface StorageClass extends KubeObject {
  apiVersion: 'storage.k8s.io/v1';
  kind: 'StorageClass';
  provisioner: string;
}

export interface Node extends KubeObject {
  apiVersion: 'v1';
  kind: 'Node';
  spec?: { taints?: { key: string; value?: string; effect: string }[] };
}

function core(kind: string, plural: string): Resource {
  return { group: '', version: 'v1', kind, plural, namespaced: true };
}
