import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect, styleText } from 'node:util';
import { type Cluster, startCluster } from '#test/cluster/provider.ts';
import { nothing, type Outcome } from './run-files.ts';

/**
 * Runs the files that need a real Kubernetes, one after the other, in its network. The cluster is brought up before
 * and taken down after, unless it was up already. Without one the files count as skipped.
 */
export async function runClusterFiles(root: string, files: readonly string[]): Promise<Outcome> {
  const outcome = nothing();
  try {
    const cluster = await startCluster({ progress: (line) => console.log(`Cluster: ${line}`) });
    if (!('missing' in cluster)) return await runInside(cluster, root, files);
    console.log(styleText('yellow', `\nNo Kubernetes to test on: ${cluster.missing}`));
    for (const file of files) outcome.skips.push({ name: 'the whole file', file, reason: cluster.missing });
  } catch (error) {
    outcome.failures.push({ name: 'the cluster', file: 'test/cluster', error: inspect(error) });
  }
  return outcome;
}

async function runInside(cluster: Cluster, root: string, files: readonly string[]): Promise<Outcome> {
  console.log(`Cluster: ${cluster.name} (${cluster.provider})`);
  const folder = await mkdtemp(join(tmpdir(), 'outcome-'));
  const target = join(folder, 'outcome.json');
  const script = join(import.meta.dirname, 'inside.ts');
  const [file = '', ...args] = [...cluster.enter, process.execPath, script, root, target, ...files];
  const child = spawn(file, args, { stdio: 'inherit' });
  // An interrupted run takes the cluster down too.
  const interrupt = () => child.kill('SIGINT');
  process.on('SIGINT', interrupt).on('SIGTERM', interrupt);
  try {
    const code = await new Promise((resolve, reject) => child.on('error', reject).on('exit', resolve));
    if (code !== 0) throw new Error(`the tests on the cluster ended with ${code} and without an outcome`);
    return JSON.parse(await readFile(target, 'utf8')) as Outcome;
  } finally {
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt);
    await rm(folder, { recursive: true, force: true });
    await cluster.close();
  }
}
