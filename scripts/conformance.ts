import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureBundles } from '#main/bundle.ts';
import { startCluster } from '#test/cluster/provider.ts';
import { taskWays, ways } from '#test/conformance/baseline.ts';
import { type Row, renderTable } from '#test/conformance/report.ts';

// The official conformance suite against everything that a client reaches, on this machine and on a cluster, which is
// brought up before and taken down after unless it was up. Ends with one table; exits with 1 when something else
// fails than what is expected, or one of the places is not there. What did not pass is said before the table.

const root = join(import.meta.dirname, '..');

interface Measured {
  readonly rows: readonly Row[];
  readonly good: boolean;
}

/** In a process of its own: where the product runs is decided when that starts. */
async function measure(names: readonly string[], env: Readonly<Record<string, string>>): Promise<Measured> {
  const folder = await mkdtemp(join(tmpdir(), 'conformance-'));
  const file = join(folder, 'rows.json');
  try {
    const program = join(root, 'test/conformance/run.ts');
    const child = spawn(process.execPath, [program, ...names, '--rows', file], {
      stdio: 'inherit',
      env: { ...process.env, ...env },
    });
    const code = await new Promise((resolve, reject) => child.on('error', reject).on('exit', resolve));
    const rows = await readFile(file, 'utf8').then(
      (text) => JSON.parse(text) as Row[],
      () => [],
    );
    return { rows, good: code === 0 };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function measureOnCluster(names: readonly string[]): Promise<Measured> {
  const name = process.env['PLOINKY_TEST_CLUSTER'];
  const cluster = await startCluster({ progress: console.log, ...(name && { name }) });
  if ('missing' in cluster) {
    console.error(`No Kubernetes to measure on: ${cluster.missing}`);
    return { rows: [], good: false };
  }
  try {
    return await measure(names, { PLOINKY_PLACE: 'cluster' });
  } finally {
    await cluster.close();
  }
}

await ensureBundles(root, console.log);
const all = [...ways, ...taskWays];
const laptop = await measure(all, { PLOINKY_PLACE: 'laptop' });
const cluster = await measureOnCluster(all.filter((way) => !way.endsWith('direct')));
console.log(`\n${renderTable([...laptop.rows, ...cluster.rows])}`);
if (!laptop.good || !cluster.good) process.exitCode = 1;
