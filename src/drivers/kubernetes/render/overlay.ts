import type { PodSpec, Volume, VolumeMount } from '#api/cluster-kinds.ts';
import { managedByLabel } from '#api/labels.ts';
import { masterSecretName } from '#wire/keys.ts';
import { driverError } from '../../errors.ts';
import type { Workload } from '../../workload.ts';
import type { PodSettings } from '../settings.ts';
import { paths, volumePrefix } from './parts.ts';

type Template = NonNullable<NonNullable<Workload['podTemplate']>['spec']>;

/** Between SIGTERM and SIGKILL: time for the calls that run and wait in the agent-server. */
const defaultGraceSeconds = 60;
/** Of a pod's time to end, what the agent-server needs before and after its calls may still run. */
const endSeconds = 8;

export interface Overlay {
  /** Fields of the pod, allowed ones only. */
  readonly spec: Partial<PodSpec>;
  readonly volumes: readonly Volume[];
  readonly mounts: readonly VolumeMount[];
  /** Beside ours, which win. */
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** What author and administrator add to a pod. Throws TerminalError PodTemplate, naming the field. */
export function overlayOf({ podTemplate }: Workload, { defaults }: PodSettings): Overlay {
  const own = podTemplate?.spec ?? {};
  const admin = defaults?.spec ?? {};
  const volumes = [...(admin.volumes ?? []), ...(own.volumes ?? [])];
  const mounts = [...(admin.volumeMounts ?? []), ...(own.volumeMounts ?? [])];
  const annotations = { ...podTemplate?.metadata?.annotations, ...defaults?.metadata?.annotations };
  checkAnnotations(podTemplate?.metadata?.annotations ?? {});
  checkRuntimeClass(own.runtimeClassName, defaults);
  checkVolumes(volumes);
  checkMounts(mounts, volumes);
  return {
    spec: specOf(own, admin),
    volumes,
    mounts,
    labels: { ...podTemplate?.metadata?.labels, ...defaults?.metadata?.labels },
    annotations,
  };
}

function specOf(own: Template, admin: Template): Partial<PodSpec> {
  const nodeSelector = { ...own.nodeSelector, ...admin.nodeSelector };
  const tolerations = [...(admin.tolerations ?? []), ...(own.tolerations ?? [])];
  const imagePullSecrets = unique([...(own.imagePullSecrets ?? []), ...(admin.imagePullSecrets ?? [])]);
  const affinity = own.affinity ?? admin.affinity;
  const topologySpreadConstraints = own.topologySpreadConstraints ?? admin.topologySpreadConstraints ?? [];
  const runtimeClassName = own.runtimeClassName ?? admin.runtimeClassName;
  const priorityClassName = own.priorityClassName ?? admin.priorityClassName;
  return {
    terminationGracePeriodSeconds:
      own.terminationGracePeriodSeconds ?? admin.terminationGracePeriodSeconds ?? defaultGraceSeconds,
    ...(Object.keys(nodeSelector).length === 0 ? {} : { nodeSelector }),
    ...(tolerations.length === 0 ? {} : { tolerations }),
    ...(imagePullSecrets.length === 0 ? {} : { imagePullSecrets }),
    ...(affinity === undefined ? {} : { affinity }),
    ...(topologySpreadConstraints.length === 0 ? {} : { topologySpreadConstraints }),
    ...(runtimeClassName === undefined ? {} : { runtimeClassName }),
    ...(priorityClassName === undefined ? {} : { priorityClassName }),
  };
}

function unique(secrets: readonly { name: string }[]): { name: string }[] {
  return [...new Set(secrets.map(({ name }) => name))].map((name) => ({ name }));
}

const where = 'spec.podTemplate.spec';

/** Annotations that once said what fields of the security context say now; some still do. */
/** Each is read by something that isolates pods: another network, a weaker sandbox, no policy. */
const securityAnnotations = [
  'k8s.v1.cni.cncf.io/',
  'v1.multus-cni.io/',
  'cni.projectcalico.org/',
  'io.katacontainers.',
  'io.kubernetes.cri',
  'dev.gvisor.',
  'sidecar.istio.io/',
  'traffic.sidecar.istio.io/',
  'config.linkerd.io/',
  'container.apparmor.security.beta.kubernetes.io/',
  'seccomp.security.alpha.kubernetes.io/',
  'container.seccomp.security.alpha.kubernetes.io/',
];

function checkAnnotations(annotations: Readonly<Record<string, string>>): void {
  for (const key of Object.keys(annotations)) {
    if (!securityAnnotations.some((prefix) => key.startsWith(prefix))) continue;
    refuse(`spec.podTemplate.metadata.annotations: "${key}" is a security setting, which no Agent has.`);
  }
}

/** A runtime class says how strong the sandbox around the pod is (gVisor, Kata), which is not the author's to weaken. */
function checkRuntimeClass(wanted: string | undefined, defaults: PodSettings['defaults']): void {
  const usual = defaults?.spec?.runtimeClassName;
  const allowed = defaults?.runtimeClassNames ?? (usual === undefined ? undefined : []);
  if (wanted === undefined || wanted === usual || allowed === undefined || allowed.includes(wanted)) return;
  const choices = [...new Set([...(usual === undefined ? [] : [usual]), ...allowed])].join(', ');
  refuse(
    `${where}.runtimeClassName: "${wanted}" is not one that the administrator allows (podDefaults.runtimeClassNames): ${choices || 'none is'}.`,
  );
}

function checkVolumes(volumes: readonly Volume[]): void {
  const seen = new Set<string>();
  for (const { name, secret } of volumes) {
    if (name.startsWith(volumePrefix)) {
      refuse(
        `${where}.volumes: the name "${name}" is reserved; names must not begin with "${volumePrefix}".`,
      );
    }
    if (seen.has(name)) refuse(`${where}.volumes: "${name}" is there already; choose another name.`);
    if (secret?.secretName === masterSecretName) {
      refuse(`${where}.volumes: Secret "${masterSecretName}" is not for agents.`);
    }
    seen.add(name);
  }
}

/** Folders of ours, which nothing may cover or be put into. */
const reservedFolders = [
  paths.agent,
  paths.code,
  paths.deps,
  paths.shared,
  paths.temporary,
  paths.workspace,
  '/etc/ploinky',
  '/node_modules',
  '/proc',
  '/sys',
  '/dev',
];

function checkMounts(mounts: readonly VolumeMount[], volumes: readonly Volume[]): void {
  const seen = new Set<string>();
  for (const { name, mountPath } of mounts) {
    const path = mountPath.replace(/\/+/g, '/').replace(/(.)\/$/, '$1');
    if (path.split('/').some((step) => step === '..' || step === '.')) {
      refuse(`${where}.volumeMounts: "${mountPath}" must not contain "." or ".." segments.`);
    }
    const reserved = reservedFolders.find((folder) => isAtOrBelow(folder, path) || isAtOrBelow(path, folder));
    if (reserved !== undefined) {
      refuse(
        `${where}.volumeMounts: "${mountPath}" meets ${reserved}, which is the agent’s; choose another path.`,
      );
    }
    if (seen.has(path)) refuse(`${where}.volumeMounts: "${mountPath}" is mounted twice.`);
    if (!volumes.some((volume) => volume.name === name)) {
      refuse(`${where}.volumeMounts: there is no volume "${name}" in ${where}.volumes.`);
    }
    seen.add(path);
  }
}

function isAtOrBelow(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder === '/' ? '/' : `${folder}/`);
}

function refuse(message: string): never {
  throw driverError('PodTemplate', message);
}

/** Secrets that the author's overlay and code source name: none of them may be one that the controller made. */
export function namedSecrets({ podTemplate, code }: Workload): { field: string; name: string }[] {
  const volumes = podTemplate?.spec?.volumes ?? [];
  const named = volumes.flatMap(({ name, secret }) =>
    secret === undefined ? [] : [{ field: `${where}.volumes (${name})`, name: secret.secretName }],
  );
  if (code?.type !== 'git') return named;
  const { credentials, ca } = code;
  const ofGit = [
    { field: 'spec.code.git.credentials', name: credentials?.name },
    { field: 'spec.code.git.ca.secretKeyRef', name: ca?.secretKeyRef?.name },
  ];
  return [...named, ...ofGit.flatMap(({ field, name }) => (name === undefined ? [] : [{ field, name }]))];
}

/** Whether a Secret is one of the controller's own. */
export function isOwnSecret(secret: {
  metadata: { name: string; labels?: Record<string, string> };
}): boolean {
  return secret.metadata.name === masterSecretName || secret.metadata.labels?.[managedByLabel] === 'ploinky';
}

/** Milliseconds that calls may go on for when the pod ends. */
export function drainMsOf(workload: Workload, settings: PodSettings): number {
  const { terminationGracePeriodSeconds = defaultGraceSeconds } = overlayOf(workload, settings).spec;
  return Math.max(0, terminationGracePeriodSeconds - endSeconds) * 1000;
}
