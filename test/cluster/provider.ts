import { existingProvider } from './existing.ts';
import { kindProvider } from './kind.ts';
import type { Component } from './local/components.ts';
import { localProvider } from './local.ts';
import type { Missing } from './parts.ts';
import type { Result, RunOptions } from './run.ts';

export type ProviderName = 'existing' | 'kind' | 'local';

/** A real Kubernetes that tests may do anything to. */
export interface Cluster {
  readonly name: string;
  readonly provider: ProviderName;
  /** Of a cluster administrator. Its server's address is good inside the cluster's network only; see `enter`. */
  readonly kubeconfig: string;
  /** What to put before a command so that it runs in the cluster's network. Empty where that is this machine's. */
  readonly enter: readonly string[];
  /** For a process that is started with `enter`: KUBECONFIG, and kubectl and helm on PATH. */
  readonly env: Readonly<Record<string, string>>;
  /** One JSON object a line, at level Metadata. Absent where the API server keeps none that tests can read. */
  readonly auditLog?: string;
  /** What only a cluster that is made of processes on this machine can do. */
  readonly local?: LocalControls;
  /** Resolves to what kubectl printed; rejects when it ends with another code than 0. */
  kubectl(args: readonly string[], options?: RunOptions): Promise<string>;
  tryKubectl(args: readonly string[], options?: RunOptions): Promise<Result>;
  helm(args: readonly string[], options?: RunOptions): Promise<string>;
  /** Makes the images of archives (OCI's or Docker's) known to the nodes, under the names they carry. */
  loadImages(archives: readonly string[]): Promise<void>;
  /** Simulated nodes, each with room for `pods` pods (default 110). They are labelled and tainted: see `fakeNodePod`. */
  addFakeNodes(
    count: number,
    options?: { readonly pods?: number; readonly prefix?: string },
  ): Promise<string[]>;
  /** Makes a simulated node ready, or lets it vanish as a node does whose machine is gone. */
  setFakeNodeReady(name: string, ready: boolean): Promise<void>;
  /** Makes sure that `count` volumes can be claimed; resolves to the name of the class to claim them by. */
  addVolumes(count: number, options?: { readonly size?: string }): Promise<string>;
  /** Takes the cluster down when `startCluster` brought it up; else leaves it. */
  close(): Promise<void>;
}

/** Faults of the control plane and the node, for tests that bring them about. */
export interface LocalControls {
  stop(component: Component): Promise<void>;
  start(component: Component): Promise<void>;
  /** Stops and starts; resolves when the API server answers again, for `apiserver` and `etcd`. */
  restart(component: Component): Promise<void>;
  /** Holds a component still, as a machine that hangs; `resume` lets it go on. */
  pause(component: Component): Promise<void>;
  resume(component: Component): Promise<void>;
  /** Makes etcd forget all revisions but the last. With a restart of the API server old watches get 410. */
  compact(): Promise<void>;
  pid(component: Component): Promise<number | undefined>;
  readonly folder: string;
}

export interface ClusterOptions {
  /** Default: `ploinky`, the one of `make cluster`. Tests that break a cluster start their own. */
  readonly name?: string;
  readonly progress?: (line: string) => void;
  /** Leave it running at `close`. */
  readonly keep?: boolean;
}

export interface Provider {
  readonly name: ProviderName;
  /** What is not there, or undefined when a cluster can be had. */
  unavailable(): Promise<Missing | undefined>;
  start(name: string, progress: (line: string) => void): Promise<Cluster | Missing>;
  isUp(name: string): Promise<boolean>;
  /** Removes the cluster, also one that is up by half. */
  down(name: string): Promise<void>;
}

export const defaultName = 'ploinky';
const providers: readonly Provider[] = [existingProvider, kindProvider, localProvider];

/** The provider that CLUSTER names, else the first that can run here. */
export async function chooseProvider(): Promise<Provider | Missing> {
  const wanted = process.env['CLUSTER'];
  if (wanted !== undefined && wanted !== '') {
    const provider = providers.find(({ name }) => name === wanted);
    if (provider === undefined) return { missing: `CLUSTER is "${wanted}"; use existing, kind or local` };
    return (await provider.unavailable()) ?? provider;
  }
  const reasons: string[] = [];
  // An existing cluster is used only when it is asked for by name.
  for (const provider of [kindProvider, localProvider]) {
    const missing = await provider.unavailable();
    if (missing === undefined) return provider;
    reasons.push(`${provider.name}: ${missing.missing}`);
  }
  return { missing: reasons.join('; ') };
}

/** Uses the cluster of that name when it is up, else brings it up. */
export async function startCluster(options: ClusterOptions = {}): Promise<Cluster | Missing> {
  const provider = await chooseProvider();
  if ('missing' in provider) return provider;
  const name = options.name ?? defaultName;
  const wasUp = await provider.isUp(name);
  const cluster = await provider.start(name, options.progress ?? (() => undefined));
  if ('missing' in cluster) return cluster;
  const close = wasUp || options.keep === true ? async () => undefined : () => provider.down(name);
  return { ...cluster, close };
}
