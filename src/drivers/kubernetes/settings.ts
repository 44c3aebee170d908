import type { AccessMode } from '#api/cluster-kinds.ts';
import type { PodDefaults } from '#api/pod-defaults.ts';

/** What rendering takes from the controller's configuration rather than from an Agent. Plain data. */
export interface PodSettings {
  /** Namespace of controller, router and egress proxy. */
  readonly homeNamespace: string;
  /** Image of agents without `runtime.image`, and of the containers that fetch code and install. Has git. */
  readonly agentImage: string;
  /** Image whose /Agent makes an agent of any other image. An agent that runs in it needs no more. */
  readonly bundleImage: string;
  /** How /Agent gets into other images: as an image volume (Kubernetes 1.35 and later), or copied by an init container. */
  readonly bundle: 'ImageVolume' | 'InitCopy';
  /** `address:port` with an IP address: pods have no DNS. */
  readonly routerAddress: string;
  readonly egressAddress: string;
  /** Of workspace volumes. `Auto` asks the StorageClass. */
  readonly accessMode: 'Auto' | Extract<AccessMode, 'ReadWriteOnce' | 'ReadWriteOncePod'>;
  /** ReadWriteMany claim in the agent's namespace that becomes /shared. Absent: no agent has /shared. */
  readonly sharedClaim?: string;
  readonly defaults?: PodDefaults;
  /** Name of the RoleBinding that gives the controller its rights in a namespace, for messages. */
  readonly roleBinding?: string;
}

/**
 * How the bundle gets into pods where the flag says `Auto`: as an image volume from Kubernetes 1.35 on, where these
 * are on unless somebody switched them off. `minor` as `/version` says it (`35`, `35+`).
 */
export function bundleModeOf(
  flag: 'Auto' | PodSettings['bundle'],
  version: { readonly major: string; readonly minor: string },
): PodSettings['bundle'] {
  if (flag !== 'Auto') return flag;
  const major = Number.parseInt(version.major, 10);
  const minor = Number.parseInt(version.minor, 10);
  return major > 1 || (major === 1 && minor >= 35) ? 'ImageVolume' : 'InitCopy';
}
