import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect, styleText } from 'node:util';
import { askedFileVariable, keepWhatWasAsked } from '#test/cluster/asked.ts';
import { type Cluster, startCluster } from '#test/cluster/provider.ts';
import { checkRights } from './rights.ts';
import { add, nothing, type Outcome } from './run-files.ts';

export interface ClusterFiles {
  /** Files that need a real Kubernetes. */
  readonly own: readonly string[];
  /** Files that run on a laptop too; here the product that they test is on the cluster. */
  readonly both: readonly string[];
  /** They are all that there are: what none of them used, nothing uses. */
  readonly isWhole: boolean;
}

/**
 * Runs files on a real Kubernetes, one after the other, in its network. The cluster is brought up before and taken
 * down after, unless it was up already. Without one the files count as skipped.
 */
export async function runClusterFiles(root: string, files: ClusterFiles): Promise<Outcome> {
  const outcome = nothing();
  try {
    const cluster = await startCluster({ progress: (line) => console.log(`Cluster: ${line}`) });
    if (!('missing' in cluster)) return await runOn(cluster, root, files);
    console.log(styleText('yellow', `\nNo Kubernetes to test on: ${cluster.missing}`));
    for (const file of [...files.own, ...files.both]) {
      outcome.skips.push({ name: 'the whole file, on a cluster', file, reason: cluster.missing });
    }
  } catch (error) {
    outcome.failures.push({ name: 'the cluster', file: 'test/cluster', error: inspect(error) });
  }
  return outcome;
}

async function runOn(cluster: Cluster, root: string, { own, both, isWhole }: ClusterFiles): Promise<Outcome> {
  console.log(`Cluster: ${cluster.name} (${cluster.provider})`);
  const outcome = nothing();
  const folder = await mkdtemp(join(tmpdir(), 'asked-'));
  const asked = join(folder, 'asked.jsonl');
  process.env[askedFileVariable] = asked;
  try {
    if (own.length > 0) add(outcome, await runInside(cluster, root, own, {}));
    if (both.length > 0) {
      console.log('Cluster: the tests of a laptop that run here too');
      add(outcome, await runInside(cluster, root, both, { PLOINKY_PLACE: 'cluster' }));
    }
    if (cluster.auditLog !== undefined) await keepWhatWasAsked(cluster.auditLog);
    if (isWhole) add(outcome, await checkRights(asked));
    return outcome;
  } finally {
    await cluster.close();
    await rm(folder, { recursive: true, force: true });
  }
}

async function runInside(
  cluster: Cluster,
  root: string,
  files: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<Outcome> {
  const folder = await mkdtemp(join(tmpdir(), 'outcome-'));
  const target = join(folder, 'outcome.json');
  const script = join(import.meta.dirname, 'inside.ts');
  const [file = '', ...args] = [...cluster.enter, process.execPath, script, root, target, ...files];
  const child = spawn(file, args, { stdio: 'inherit', env: { ...process.env, ...env } });
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
  }
}
