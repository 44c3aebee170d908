/**
 * Pod Security Standard `restricted` (with `baseline` in it) as Kubernetes 1.36 checks it, rule by rule:
 * https://kubernetes.io/docs/concepts/security/pod-security-standards/. Returns the names of the rules that a pod
 * breaks, as the cluster's own answer calls them; empty: it passes. Windows pods are not looked at.
 */
export function brokenRules({ metadata, spec }: LoosePod): string[] {
  const containers = [
    ...(spec.initContainers ?? []),
    ...spec.containers,
    ...(spec.ephemeralContainers ?? []),
  ];
  const broken = rules.filter(({ holds }) => !holds(spec, containers)).map(({ name }) => name);
  return hasOpenAppArmor(metadata?.annotations) ? [...broken, 'appArmorProfile'] : broken;
}

/** The old way of saying it, which still counts. */
function hasOpenAppArmor(annotations: Readonly<Record<string, string>> = {}): boolean {
  return Object.entries(annotations).some(
    ([key, value]) =>
      key.startsWith('container.apparmor.security.beta.kubernetes.io/') &&
      value !== '' &&
      value !== 'runtime/default' &&
      !value.startsWith('localhost/'),
  );
}

export interface LoosePod {
  readonly metadata?: { readonly annotations?: Readonly<Record<string, string>> };
  readonly spec: LoosePodSpec;
}

type Loose = object;

export interface LoosePodSpec {
  readonly securityContext?: LooseSecurity;
  readonly initContainers?: readonly LooseContainer[];
  readonly containers: readonly LooseContainer[];
  readonly ephemeralContainers?: readonly LooseContainer[];
  readonly volumes?: readonly Loose[];
  readonly hostNetwork?: boolean;
  readonly hostPID?: boolean;
  readonly hostIPC?: boolean;
}

export interface LooseContainer {
  readonly name: string;
  readonly securityContext?: LooseSecurity;
  readonly ports?: readonly { readonly name?: string; readonly hostPort?: number }[];
  readonly lifecycle?: Readonly<Record<string, Handler | undefined>>;
  readonly startupProbe?: Handler;
  readonly readinessProbe?: Handler;
  readonly livenessProbe?: Handler;
}

interface Handler {
  readonly httpGet?: { readonly path?: string; readonly host?: string };
  readonly tcpSocket?: { readonly host?: string };
}

interface LooseSecurity {
  readonly privileged?: boolean;
  readonly allowPrivilegeEscalation?: boolean;
  readonly runAsNonRoot?: boolean;
  readonly runAsUser?: number;
  readonly procMount?: string;
  readonly capabilities?: { readonly drop?: readonly string[]; readonly add?: readonly string[] };
  readonly seccompProfile?: { readonly type?: string };
  readonly appArmorProfile?: { readonly type?: string };
  readonly seLinuxOptions?: { readonly type?: string; readonly user?: string; readonly role?: string };
  readonly sysctls?: readonly { readonly name: string }[];
}

interface Rule {
  readonly name: string;
  readonly holds: (spec: LoosePodSpec, containers: readonly LooseContainer[]) => boolean;
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
const safeSysctls = [
  'kernel.shm_rmid_forced',
  'net.ipv4.ip_local_port_range',
  'net.ipv4.ip_unprivileged_port_start',
  'net.ipv4.tcp_syncookies',
  'net.ipv4.ping_group_range',
  'net.ipv4.ip_local_reserved_ports',
  'net.ipv4.tcp_keepalive_time',
  'net.ipv4.tcp_fin_timeout',
  'net.ipv4.tcp_keepalive_intvl',
  'net.ipv4.tcp_keepalive_probes',
  'net.ipv4.tcp_rmem',
  'net.ipv4.tcp_wmem',
];
const seLinuxTypes = ['', 'container_t', 'container_init_t', 'container_kvm_t', 'container_engine_t'];

const rules: readonly Rule[] = [
  every('privileged', ({ privileged }) => privileged !== true),
  every('allowPrivilegeEscalation', (own) => own.allowPrivilegeEscalation === false),
  every('unrestricted capabilities', ({ capabilities }) => {
    const added = capabilities?.add ?? [];
    return capabilities?.drop?.includes('ALL') === true && added.every((name) => name === 'NET_BIND_SERVICE');
  }),
  every('procMount', ({ procMount = 'Default' }) => procMount === 'Default'),
  everyWithPod('runAsNonRoot', ({ runAsNonRoot }) => runAsNonRoot === true),
  inPodAndEvery('runAsUser=0', ({ runAsUser }) => runAsUser !== 0),
  everyWithPod('seccompProfile', ({ seccompProfile }) =>
    ['RuntimeDefault', 'Localhost'].includes(seccompProfile?.type ?? ''),
  ),
  inPodAndEvery('appArmorProfile', ({ appArmorProfile }) =>
    ['RuntimeDefault', 'Localhost'].includes(appArmorProfile?.type ?? 'RuntimeDefault'),
  ),
  inPodAndEvery('seLinuxOptions', ({ seLinuxOptions = {} }) => {
    const { type = '', user = '', role = '' } = seLinuxOptions;
    return seLinuxTypes.includes(type) && user === '' && role === '';
  }),
  {
    name: 'forbidden sysctls',
    holds: ({ securityContext }) =>
      (securityContext?.sysctls ?? []).every(({ name }) => safeSysctls.includes(name)),
  },
  {
    name: 'host namespaces',
    holds: (spec) => [spec.hostNetwork, spec.hostPID, spec.hostIPC].every((value) => value !== true),
  },
  {
    name: 'restricted volume types',
    holds: ({ volumes = [] }) =>
      // One without a type is an emptyDir.
      volumes.every((volume) =>
        Object.keys(volume).every((key) => key === 'name' || volumeTypes.includes(key)),
      ),
  },
  {
    name: 'hostPort',
    holds: (_spec, containers) =>
      containers.every(({ ports = [] }) => ports.every(({ hostPort = 0 }) => hostPort === 0)),
  },
  {
    name: 'hostProbes',
    holds: (_spec, containers) => containers.flatMap(handlersOf).every((handler) => !namesHost(handler)),
  },
];

/** A rule about the containers alone. */
function every(name: string, holds: (own: LooseSecurity) => boolean): Rule {
  return {
    name,
    holds: (_spec, containers) => containers.every(({ securityContext = {} }) => holds(securityContext)),
  };
}

/** A rule about what holds for a container, by itself or from its pod. */
function everyWithPod(name: string, holds: (own: LooseSecurity) => boolean): Rule {
  return {
    name,
    holds: (spec, containers) =>
      containers.every(({ securityContext }) => holds({ ...spec.securityContext, ...securityContext })),
  };
}

/** A rule about a value that neither the pod nor any container may have. */
function inPodAndEvery(name: string, holds: (own: LooseSecurity) => boolean): Rule {
  return {
    name,
    holds: (spec, containers) =>
      [spec, ...containers].every(({ securityContext = {} }) => holds(securityContext)),
  };
}

function handlersOf(container: LooseContainer): (Handler | undefined)[] {
  const { startupProbe, readinessProbe, livenessProbe, lifecycle = {} } = container;
  return [startupProbe, readinessProbe, livenessProbe, ...Object.values(lifecycle)];
}

function namesHost(handler: Handler | undefined): boolean {
  return Boolean(handler?.httpGet?.host) || Boolean(handler?.tcpSocket?.host);
}
