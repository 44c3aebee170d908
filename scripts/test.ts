import { spawnSync } from 'node:child_process';
import { existsSync, globSync } from 'node:fs';
import { join, relative } from 'node:path';
import { run } from 'node:test';
import { inspect, styleText } from 'node:util';
import { ensureBundles } from '#main/bundle.ts';

// Runs every test of the checkout, or those whose path contains one of the arguments. One line a file, details
// of failures, every skipped check with its reason, the runner's totals last. Exits with 1 when anything failed.

const root = join(import.meta.dirname, '..');
const peers = join(root, 'test/peers');

interface Failure {
  readonly name: string;
  readonly file: string;
  readonly error: unknown;
}

interface Totals {
  passed: number;
  todo: number;
}

const failures: Failure[] = [];
const skips: { name: string; file: string; reason: string }[] = [];
const totals: Totals = { passed: 0, todo: 0 };

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

function short(file: string | undefined): string {
  return file === undefined ? '' : relative(root, file);
}

/** Runs files, `concurrency` at a time, and adds what they did to the totals. */
async function runFiles(files: readonly string[], concurrency: number): Promise<void> {
  const stream = run({ files: files.map((file) => join(root, file)), concurrency, cwd: root });
  stream.on('test:pass', ({ name, file, skip }) => {
    if (skip === undefined || skip === false) return;
    skips.push({ name, file: short(file), reason: typeof skip === 'string' ? skip : 'no reason given' });
  });
  stream.on('test:fail', ({ name, file, details, todo }) => {
    const isParent = 'failureType' in details.error && details.error.failureType === 'subtestsFailed';
    if (!isParent && (todo === undefined || todo === false)) {
      failures.push({ name, file: short(file), error: details.error.cause ?? details.error });
    }
  });
  stream.on('test:stderr', ({ message, file }) => process.stderr.write(`${short(file)}: ${message}`));
  stream.on('test:summary', ({ file, counts, duration_ms: ms, success }) => {
    // The one without a file is the sum.
    if (file === undefined) return;
    totals.passed += counts.passed;
    totals.todo += counts.todo;
    const mark = success ? styleText('green', '✔') : styleText('red', '✖');
    const skipped = counts.skipped > 0 ? `, ${counts.skipped} skipped` : '';
    console.log(`${mark} ${short(file)}  ${counts.passed} passed${skipped}  ${(ms / 1000).toFixed(1)} s`);
  });
  for await (const _event of stream);
}

function report(seconds: number): void {
  for (const { name, file, error } of failures) {
    console.log(`\n${styleText('red', '✖')} ${file}: ${name}\n${inspect(error)}`);
  }
  if (skips.length > 0) console.log(`\n${styleText('yellow', 'Skipped on this machine:')}`);
  for (const { name, file, reason } of skips) console.log(`  ${file}: ${name}\n    ${reason}`);
  // A file that cannot even be loaded fails without counts of its own, and a skipped suite counts as one check.
  const failed = failures.length;
  const more = totals.todo > 0 ? `, and ${totals.todo} to do` : '';
  console.log(`\nIn ${seconds.toFixed(0)} s${more}:`);
  // Alone on its line: what runs the tests reads it.
  console.log(`${totals.passed} passed, ${failed} failed, ${skips.length} skipped`);
}

const begun = performance.now();
const files = findFiles(process.argv.slice(2));
if (files.length === 0) {
  console.error('No test file matches.');
  process.exit(1);
}
// Whole processes and real clusters need the machine to themselves; the others share two cores.
const isHeavy = (file: string) => /^test\/(e2e|cluster)\//.test(file);
const heavy = files.filter(isHeavy);
if (heavy.length > 0) installPeers();
// Tests of sandboxes run what sandboxes run.
await ensureBundles(root, console.log);
await runFiles(
  files.filter((file) => !isHeavy(file)),
  2,
);
if (heavy.length > 0) await runFiles(heavy, 1);
report((performance.now() - begun) / 1000);
process.exit(failures.length > 0 ? 1 : 0);
