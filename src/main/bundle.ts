import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { CodedError } from '#kit/errors.ts';

/** Bundles of the programs of which every agent has one, and of the one that clients wait for. */
const programs = ['agent-server', 'shim', 'router'];
/** All that can be in them: the layers below, as lint has them, their own main files and how they are made. */
const ingredients = [
  ...['agent-server', 'router', 'routing', 'workspace', 'drivers', 'mcp', 'wire', 'kube', 'api', 'kit'].map(
    (folder) => `src/${folder}`,
  ),
  'src/main',
  'scripts/build.ts',
  ...['reaper.c', 'syscalls.h'].map((file) => `native/${file}`),
];

/** Where a program's bundle lies in a checkout. */
export function bundleOf(program: string): string {
  return `dist/${program}.mjs`;
}

/** Builds the bundles when one is missing or older than one of its sources. Takes about a second when it has to. */
export async function ensureBundles(checkout: string, progress: (message: string) => void): Promise<void> {
  const built = await Promise.all(programs.map((name) => modifiedAt(join(checkout, bundleOf(name)))));
  if (Math.min(...built) > (await newestSource(checkout))) return;
  progress('Building the agent-server and the router…');
  const child = spawn(process.execPath, [join(checkout, 'scripts/build.ts'), ...programs], {
    cwd: checkout,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
  if (code === 0) return;
  throw new CodedError('BuildFailed', `the programs cannot be built: ${stderr.trim()}`, {
    remedy: 'Run `npm run build` in the checkout to see it alone.',
  });
}

async function newestSource(checkout: string): Promise<number> {
  return Math.max(...(await Promise.all(ingredients.map((path) => newestBelow(join(checkout, path))))));
}

async function newestBelow(path: string): Promise<number> {
  if (/\.(ts|c|h)$/.test(path)) return modifiedAt(path);
  const names = await readdir(path, { recursive: true });
  const sources = names.filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'));
  return Math.max(...(await Promise.all(sources.map((name) => modifiedAt(join(path, name))))));
}

/** Milliseconds since the epoch; 0 for what does not exist. */
function modifiedAt(path: string): Promise<number> {
  return stat(path).then(
    ({ mtimeMs }) => mtimeMs,
    () => 0,
  );
}
