import { join } from 'node:path';
import { sha256Hex } from '#kit/digest.ts';
import type { WorkloadId } from '../workload.ts';

/** Folders that the driver is given; absolute paths. It makes what is missing below them. */
export interface HostPlaces {
  /** The workspace: code folders lie inside it. */
  readonly root: string;
  /** Its private part (`.ploinky`), hidden from every sandbox. */
  readonly state: string;
  /** Short, private to the user: sockets and records of what runs. */
  readonly workloads: string;
  /** Small files of what runs: inline code, /etc. */
  readonly files: string;
  readonly deps: string;
  readonly shared: string;
  /** The agent's workspace volume, kept under its name. */
  readonly workspace: (id: WorkloadId) => string;
  readonly log: (id: WorkloadId) => string;
}

/** Places of one run; sockets are few and short (a Unix socket's path has at most 107 bytes). */
export interface RunPlaces {
  readonly key: string;
  readonly folder: string;
  readonly record: string;
  readonly control: string;
  readonly sockets: string;
  readonly listen: (instance: string) => string;
  readonly files: string;
}

/** The places of one driver: two drivers of a workspace never see each other's runs. */
export function placesOfDriver(places: HostPlaces, name: string): HostPlaces {
  const folder = name.slice(0, 1);
  return {
    ...places,
    workloads: join(places.workloads, folder),
    files: join(places.files, folder),
    // What is installed knows its own path, which differs.
    deps: join(places.deps, name),
  };
}

/** 12 hex digits that name a workload on this host; another Agent object, another key. */
export function workloadKey(id: WorkloadId): string {
  return sha256Hex(`${id.namespace}/${id.name}/${id.uid}`).slice(0, 12);
}

/** The same for an install step. */
export function installKey(digest: string): string {
  return `i${sha256Hex(digest).slice(0, 11)}`;
}

export function runPlaces(places: HostPlaces, key: string): RunPlaces {
  const folder = join(places.workloads, key);
  return {
    key,
    folder,
    record: join(folder, 'record.json'),
    control: join(folder, 'c.sock'),
    sockets: join(folder, 'in'),
    listen: (instance) => join(folder, `${instance.slice(0, 8)}.sock`),
    files: join(places.files, key),
  };
}

/** What an install step leaves, and where it works until it is whole. */
export function depsPlaces(places: HostPlaces, digest: string) {
  const name = sha256Hex(digest).slice(0, 32);
  const partial = join(places.deps, `${name}.partial`);
  return {
    ready: join(places.deps, name),
    partial,
    tree: join(partial, 'tree'),
    cache: join(partial, 'cache'),
    log: join(places.deps, `${name}.log`),
  };
}
