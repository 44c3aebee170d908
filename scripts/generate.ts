import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { generatedFiles, generatedFolders } from './generate/outputs.ts';

// npm run generate             writes crds/ and docs/reference/
// npm run generate -- --check  writes nothing, shows what is stale and exits 1
const root = join(import.meta.dirname, '..');
const check = process.argv.includes('--check');
const wanted = generatedFiles();
const stale = [...wanted].filter(([path, content]) => readIfThere(path) !== content);
const strays = generatedFolders.flatMap(filesIn).filter((path) => !wanted.has(path));

if (check) reportStale();
else writeAll();

function writeAll(): void {
  for (const [path, content] of stale) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
    console.log(`wrote ${path}`);
  }
  for (const path of strays) {
    rmSync(join(root, path));
    console.log(`removed ${path}`);
  }
  console.log(`${wanted.size} generated files are up to date`);
}

function reportStale(): void {
  for (const [path, content] of stale)
    console.error(firstDifferences(path, readIfThere(path) ?? '', content));
  for (const path of strays) console.error(`${path}: nothing generates this file`);
  if (stale.length + strays.length === 0) {
    console.log(`${wanted.size} generated files are up to date`);
    return;
  }
  console.error('Generated files are stale. Run `npm run generate` and commit the result.');
  process.exitCode = 1;
}

/** The first three lines that differ, as a diff would show them. */
function firstDifferences(path: string, is: string, shouldBe: string): string {
  const [before, after] = [is.split('\n'), shouldBe.split('\n')];
  const differing = after.flatMap((line, index) => (line === before[index] ? [] : [index])).slice(0, 3);
  const lines = differing.flatMap((index) => [
    `@@ line ${index + 1}`,
    `-${before[index] ?? ''}`,
    `+${after[index]}`,
  ]);
  const surplus =
    before.length > after.length ? [`${before.length - after.length} lines too many at the end`] : [];
  return [`${path} is stale`, ...lines, ...surplus].join('\n');
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(join(root, path), 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

function filesIn(folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => `${folder}/${entry.name}`);
}
