/**
 * What Pod Security Standard `restricted` (of Kubernetes 1.30 and later) refuses at a pod template of this chart, in
 * words; empty: it passes. Stricter than the standard in three points that the project wants as well: a numeric user
 * above 0 is named or left to the cluster, the root file system is read-only, and resources are requested.
 */
export interface PodSpec {
  readonly securityContext?: Security;
  readonly hostNetwork?: boolean;
  readonly hostPID?: boolean;
  readonly hostIPC?: boolean;
  readonly volumes?: readonly Readonly<Record<string, unknown>>[];
  readonly containers: readonly Container[];
  readonly initContainers?: readonly Container[];
}

export interface Container {
  readonly name: string;
  readonly image: string;
  readonly args?: readonly string[];
  readonly securityContext?: Security;
  readonly ports?: readonly {
    readonly name?: string;
    readonly containerPort?: number;
    readonly hostPort?: number;
  }[];
  readonly resources?: {
    readonly requests?: Readonly<Record<string, string>>;
    readonly limits?: Readonly<Record<string, string>>;
  };
}

interface Security {
  readonly runAsNonRoot?: boolean;
  readonly runAsUser?: number;
  readonly privileged?: boolean;
  readonly allowPrivilegeEscalation?: boolean;
  readonly readOnlyRootFilesystem?: boolean;
  readonly seccompProfile?: { readonly type: string };
  readonly capabilities?: { readonly drop?: readonly string[]; readonly add?: readonly string[] };
}

const volumeTypes = [
  'configMap',
  'csi',
  'downwardAPI',
  'emptyDir',
  'ephemeral',
  'image',
  'persistentVolumeClaim',
  'projected',
  'secret',
];

export function restrictedViolations(pod: PodSpec): string[] {
  const found: string[] = [];
  for (const field of ['hostNetwork', 'hostPID', 'hostIPC'] as const) {
    if (pod[field] === true) found.push(`${field} is true`);
  }
  for (const volume of pod.volumes ?? []) {
    const types = Object.keys(volume).filter((key) => key !== 'name' && !volumeTypes.includes(key));
    if (types.length > 0) found.push(`volume ${String(volume['name'])} is a ${types.join()}`);
  }
  for (const container of [...(pod.initContainers ?? []), ...pod.containers]) {
    found.push(...containerViolations(pod, container).map((text) => `container ${container.name}: ${text}`));
  }
  return found;
}

function containerViolations(pod: PodSpec, container: Container): string[] {
  const own = container.securityContext ?? {};
  const all = { ...pod.securityContext, ...own };
  const rules: readonly (readonly [boolean, string])[] = [
    [all.runAsNonRoot === true, 'runAsNonRoot is not true'],
    [all.runAsUser !== 0, 'runAsUser is 0'],
    [['RuntimeDefault', 'Localhost'].includes(all.seccompProfile?.type ?? ''), 'no seccomp profile'],
    [own.privileged !== true, 'is privileged'],
    [own.allowPrivilegeEscalation === false, 'allowPrivilegeEscalation is not false'],
    [own.capabilities?.drop?.includes('ALL') === true, 'does not drop ALL capabilities'],
    [(own.capabilities?.add ?? []).every((name) => name === 'NET_BIND_SERVICE'), 'adds capabilities'],
    [own.readOnlyRootFilesystem === true, 'its root file system can be written'],
    [(container.ports ?? []).every(({ hostPort }) => hostPort === undefined), 'has a host port'],
    [container.resources?.requests?.['memory'] !== undefined, 'requests no memory'],
    [container.resources?.limits?.['memory'] !== undefined, 'has no memory limit'],
  ];
  return rules.filter(([holds]) => !holds).map(([, text]) => text);
}
