import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { clusterFolder } from '../folders.ts';

/** Where one local cluster lies: its folder, its network namespace, its addresses, its control group. */
export interface Place {
  readonly name: string;
  readonly folder: string;
  /** Name of the network namespace (`ip netns`). */
  readonly netns: string;
  /** Of node0, where the API server listens too. Different for most names, so that logs tell clusters apart. */
  readonly address: string;
  readonly dns: string;
  /** Control group of all pods, below the root of every hierarchy. */
  readonly cgroup: string;
  /** A path below the folder. */
  file(...parts: string[]): string;
}

export const serviceCidr = '10.96.0.0/16';
/** Of the Service `kubernetes`. */
export const serviceAddress = '10.96.0.1';
export const podCidr = '10.244.0.0/22';
export const nodeName = 'node0';
export const pauseImage = 'localhost/ploinky/pause:local';

/** The place of a name. Names are short: sockets lie below the folder and a path to one has 107 bytes at most. */
export function placeOf(name: string): Place {
  if (!/^[a-z][a-z0-9-]{0,19}$/.test(name))
    throw new Error(
      `"${name}" cannot name a cluster: use at most 20 lower-case letters, digits and dashes, a letter first`,
    );
  const folder = clusterFolder(name);
  if (folder.startsWith('/var/'))
    throw new Error(
      `${folder} is below /var, which a cluster overlays: set XDG_CACHE_HOME to another folder`,
    );
  if (folder.length > 64) throw new Error(`${folder} is too long for sockets in it: set XDG_CACHE_HOME`);
  const octet = createHash('sha256').update(name).digest().readUInt8(0);
  return {
    name,
    folder,
    netns: `plk-${name}`,
    address: `192.168.${octet}.2`,
    dns: `192.168.${octet}.10`,
    cgroup: `plk-${name}`,
    file: (...parts) => join(folder, ...parts),
  };
}

/** Runs what follows it inside the cluster's network. */
export function enterNetwork(place: Place): string[] {
  return ['nsenter', `--net=/run/netns/${place.netns}`];
}
