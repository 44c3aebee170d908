import { spawnSync } from 'node:child_process';
import { existsSync, globSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs, styleText } from 'node:util';
import { ensureBundles } from '#main/bundle.ts';
import { runClusterFiles } from './test/cluster.ts';
import { add, nothing, type Outcome, runFiles } from './test/run-files.ts';

// Runs every test of the checkout, or those whose path contains one of the arguments; those of test/e2e/both twice, the
// second time on a cluster. --cluster-only leaves out what runs on this machine alone. One line a file, details
// of failures, every skipped check with its reason, the runner's totals last. Exits with 1 when anything failed.

const root = join(import.meta.dirname, '..');
const peers = join(root, 'test/peers');

function findFiles(wanted: readonly string[]): string[] {
  const files = globSync(['src/**/*.test.ts', 'scripts/**/*.test.ts', 'test/**/*.test.ts'], {
    cwd: root,
    exclude: ['**/node_modules/**'],
  });
  return files.filter((file) => wanted.length === 0 || wanted.some((part) => file.includes(part))).sort();
}

/** Other people's MCP clients, which the end-to-end tests speak through. */
function installPeers(): void {
  if (existsSync(join(peers, 'node_modules/.package-lock.json'))) return;
  console.log('Installing the MCP clients that the end-to-end tests use…');
  const { status } = spawnSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: peers, stdio: 'inherit' });
  if (status !== 0) console.log('They could not be installed; the tests that need them say so.');
}

/**
 * Small tests two at a time; then whole processes one file at a time, and beside them those on the cluster, which
 * mostly wait for pods.
 */
async function runParts(files: readonly string[], clusterOnly: boolean, isWhole: boolean): Promise<Outcome> {
  const onCluster = files.filter((file) => file.startsWith('test/cluster/'));
  const both = files.filter((file) => file.startsWith('test/e2e/both/'));
  const endToEnd = files.filter((file) => file.startsWith('test/e2e/'));
  const small = files.filter((file) => !onCluster.includes(file) && !endToEnd.includes(file));
  const isHere = !clusterOnly;
  const outcome = nothing();
  if (onCluster.length + endToEnd.length > 0) installPeers();
  // Tests of sandboxes run what sandboxes run.
  await ensureBundles(root, console.log);
  if (isHere && small.length > 0) add(outcome, await runFiles(root, small, 2));
  const lanes = await Promise.all([
    isHere ? runFiles(root, endToEnd, 1) : nothing(),
    onCluster.length + both.length > 0 ? runClusterFiles(root, { own: onCluster, both, isWhole }) : nothing(),
  ]);
  for (const lane of lanes) add(outcome, lane);
  return outcome;
}

function report({ passed, todo, failures, skips }: Outcome, seconds: number): void {
  for (const { name, file, error } of failures) {
    console.log(`\n${styleText('red', '✖')} ${file}: ${name}\n${error}`);
  }
  if (skips.length > 0) console.log(`\n${styleText('yellow', 'Skipped on this machine:')}`);
  for (const { name, file, reason } of skips) console.log(`  ${file}: ${name}\n    ${reason}`);
  const more = todo > 0 ? `, and ${todo} to do` : '';
  console.log(`\nIn ${seconds.toFixed(0)} s${more}:`);
  // A file that cannot even be loaded fails without counts of its own, and a skipped suite counts as one check.
  // Alone on its line: what runs the tests reads it.
  console.log(`${passed} passed, ${failures.length} failed, ${skips.length} skipped`);
}

/** What `make test-cluster` asks for. */
const wholeOfCluster = 'test/cluster,test/e2e/both';

const begun = performance.now();
const { values, positionals } = parseArgs({
  options: { 'cluster-only': { type: 'boolean', default: false } },
  allowPositionals: true,
});
const files = findFiles(positionals);
if (files.length === 0) {
  console.error('No test file matches.');
  process.exit(1);
}
const isWhole = positionals.length === 0 || (values['cluster-only'] && positionals.join() === wholeOfCluster);
const outcome = await runParts(files, values['cluster-only'], isWhole);
report(outcome, (performance.now() - begun) / 1000);
process.exit(outcome.failures.length > 0 ? 1 : 0);
