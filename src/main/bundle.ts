import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { CodedError } from '#kit/errors.ts';

/** The agent-server's bundle, which sandboxes and pods run. */
const bundle = 'dist/agent-server.mjs';
/** All that can be in it: the layers below src/agent-server, as lint has them, and its own main file. */
const ingredients = ['agent-server', 'mcp', 'wire', 'kube', 'api', 'kit', 'main/agent-server.ts'];

/** Builds the bundle when it is missing or older than one of its sources. Takes about a second when it has to. */
export async function ensureBundle(checkout: string, progress: (message: string) => void): Promise<void> {
  const built = await modifiedAt(join(checkout, bundle));
  if (built > (await newestSource(join(checkout, 'src')))) return;
  progress('Building the agent-server…');
  const child = spawn(process.execPath, [join(checkout, 'scripts/build.ts')], {
    cwd: checkout,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
  if (code === 0) return;
  throw new CodedError('BuildFailed', `the agent-server cannot be built: ${stderr.trim()}`, {
    remedy: 'Run `npm run build` in the checkout to see it alone.',
  });
}

async function newestSource(source: string): Promise<number> {
  return Math.max(...(await Promise.all(ingredients.map((path) => newestBelow(join(source, path))))));
}

async function newestBelow(path: string): Promise<number> {
  if (path.endsWith('.ts')) return modifiedAt(path);
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
