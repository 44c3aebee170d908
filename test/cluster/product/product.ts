import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { KubeObject } from '#api/meta.ts';
import { type Installed, type InstallOptions, installProduct } from '#test/fixtures/place/install.ts';
import { checkout } from '#test/fixtures/workspace/workspace.ts';
import { ensureImages } from '../../../scripts/images/ensure.ts';
import { type Cluster, chooseProvider, defaultName, startCluster } from '../provider.ts';
import type { Result } from '../run.ts';

type Images = Parameters<typeof ensureImages>[0];

export const progress = (line: string) => process.stderr.write(`${line}\n`);
const provider = await chooseProvider();

/** Why the product cannot run on a cluster here, for `skip`; false when it can. */
export const missingCluster: string | false = 'missing' in provider ? provider.missing : false;

/** Calls of kubectl in one namespace. */
export interface Space {
  readonly cluster: Cluster;
  readonly namespace: string;
  kubectl(...args: string[]): Promise<string>;
  tryKubectl(...args: string[]): Promise<Result>;
  /** Applies objects to the namespace. */
  apply(...objects: readonly object[]): Promise<void>;
  /** Objects of a kind, or of several (`pods,secrets`), that a selector chooses. */
  list<T extends KubeObject>(kind: string, selector?: string): Promise<T[]>;
}

/**
 * A cluster with the product's images and CRDs. `name`: one that the test may break or that it needs for itself;
 * default: the one that tests share, or PLOINKY_TEST_CLUSTER. PLOINKY_TEST_IMAGES=loaded takes the images that the
 * cluster has as they are.
 */
export async function openCluster(images: Images, name?: string): Promise<Cluster> {
  const shared = process.env['PLOINKY_TEST_CLUSTER'] ?? defaultName;
  const cluster = await startCluster({ progress, name: name ?? shared, keep: name === undefined });
  if ('missing' in cluster) throw new Error(cluster.missing);
  if (process.env['PLOINKY_TEST_IMAGES'] !== 'loaded') {
    const built = await ensureImages(['controller', 'agent', ...images], progress);
    if ('missing' in built) throw new Error(built.missing);
    await cluster.loadImages(Object.values(built.archives));
  }
  await cluster.kubectl(['apply', '--server-side', '--force-conflicts', '-f', join(checkout, 'crds')]);
  return cluster;
}

export function openSpace(cluster: Cluster, namespace: string): Space {
  const kubectl = (...args: string[]) => cluster.kubectl(['-n', namespace, ...args]);
  return {
    cluster,
    namespace,
    kubectl,
    tryKubectl: (...args) => cluster.tryKubectl(['-n', namespace, ...args]),
    async apply(...items) {
      const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
      await cluster.kubectl(['apply', '--server-side', '-n', namespace, '-f', '-'], { input });
    },
    async list<T extends KubeObject>(kind: string, selector?: string) {
      const chosen = selector === undefined ? [] : ['-l', selector];
      return (JSON.parse(await kubectl('get', kind, '-o', 'json', ...chosen)) as { items: T[] }).items;
    },
  };
}

/** The chart in a namespace of its own, for that namespace alone unless options say otherwise. */
export async function installIn(
  cluster: Cluster,
  prefix: string,
  options: InstallOptions = {},
): Promise<Space & Pick<Installed, 'remove'>> {
  const namespace = `${prefix}-${randomBytes(3).toString('hex')}`;
  const began = performance.now();
  const { remove } = await installProduct(cluster, namespace, options);
  progress(`# installed in ${seconds(began)}`);
  return { ...openSpace(cluster, namespace), remove };
}

/** Time since a moment of performance.now(), for people. */
export function seconds(since: number): string {
  return `${((performance.now() - since) / 1000).toFixed(1)} s`;
}
