import { basename } from 'node:path';
import type { Cluster } from '#test/cluster/provider.ts';
import { chartFolder, homeNamespace } from '../chart/helm.ts';
import { ensureImages } from '../images/ensure.ts';
import { type ImageName, tagOf } from '../images/recipes.ts';
import { loadArchives } from './load.ts';

type Print = (line: string) => void;

/**
 * Builds the images that are not built yet, loads them and installs the chart with them, or upgrades what is installed.
 * `extra` goes to Helm. Returns a sentence when it cannot be done here.
 */
export async function installProduct(
  cluster: Cluster,
  extra: readonly string[],
  print: Print,
): Promise<string | undefined> {
  const built = await ensureImages(['controller', 'agent', 'examples'], print);
  if ('missing' in built) return `The images cannot be built: ${built.missing}`;
  const { archives } = built;
  await loadArchives(cluster, Object.values(archives), print);
  print('Installing the chart…');
  const values = [
    ...imageValues('image', 'controller'),
    ...imageValues('agentImage', 'agent'),
    // Their name stays the same whatever is in them; so a pod is replaced when its image is another.
    ...['controller', 'router', 'egress'].map(
      (program) => `${program}.podAnnotations.archive=${basename(archives.controller ?? '')}`,
    ),
  ];
  await cluster.helm([
    ...['upgrade', '--install', 'ploinky', chartFolder, '-n', homeNamespace, '--create-namespace'],
    ...['--wait', '--timeout', '180s', ...values.flatMap((value) => ['--set', value]), ...extra],
  ]);
  const enforce = 'pod-security.kubernetes.io/enforce=restricted';
  await cluster.kubectl(['label', 'namespace', homeNamespace, enforce, '--overwrite']);
  return undefined;
}

function imageValues(key: string, name: ImageName): string[] {
  const [repository, tag] = tagOf(name).split(':');
  return [`${key}.repository=${repository}`, `${key}.tag=${tag}`];
}
