import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { customResourceDefinitions } from '#api/crd.ts';
import type { Resource } from '#api/meta.ts';
import { resources } from '#api/resources.ts';
import { type Definition, definitionResource } from '#cli/cluster/objects.ts';
import { systemClock } from '#kit/clock.ts';
import { type Client, createClient } from '#kube/client.ts';
import { kubeconfigEndpoint } from '#kube/kubeconfig.ts';
import { kubeBinary } from '#test/cluster/kube/build.ts';
import { startControlPlane } from '#test/cluster/kube/control-plane.ts';
import { type Ploinky, ploinkyOf } from './ploinky.ts';

/** A real kube-apiserver without nodes, and the command line for it. */
export interface TestApi {
  readonly kubeconfig: string;
  readonly ploinky: Ploinky;
  readonly client: Client;
  /** For files of the tests; removed at the end. */
  readonly folder: string;
  /** Makes Agents, Routes and Tasks known, and waits until they are served. */
  define(): Promise<void>;
  close(): Promise<void>;
}

/** The program with all of Kubernetes, or why there is none. */
export const kubernetes = await kubeBinary((line) => console.error(`# ${line}`));
export const skip = typeof kubernetes === 'string' ? false : kubernetes.missing;

/** Undefined where it cannot be had: the suites are skipped then. */
export async function startApi(): Promise<TestApi | undefined> {
  if (typeof kubernetes !== 'string') return undefined;
  const plane = await startControlPlane(kubernetes);
  const { kubeconfig } = plane;
  const endpoint = await kubeconfigEndpoint({ file: kubeconfig, clock: systemClock });
  const client = createClient({ endpoint, clock: systemClock });
  const folder = await mkdtemp(join(tmpdir(), 'cli-cluster-'));
  return {
    ...{ kubeconfig, client, folder },
    ploinky: ploinkyOf(kubeconfig),
    define: () => define(client),
    close: async () => {
      await client.close();
      await plane.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function define(client: Client): Promise<void> {
  const definitions = customResourceDefinitions() as unknown as Definition[];
  for (const definition of definitions) await client.create(definitionResource, definition);
  for (const resource of resources.slice(0, 3)) await untilServed(client, resource);
}

async function untilServed(client: Client, resource: Resource): Promise<void> {
  for (let tries = 0; ; tries++) {
    try {
      await client.list(resource);
      return;
    } catch (error) {
      if (tries === 200) throw error;
      await systemClock.sleep(50);
    }
  }
}
