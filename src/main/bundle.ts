import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { CodedError } from '#kit/errors.ts';

/** The agent-server's bundle, which sandboxes and pods run. */
const bundle = 'dist/agent-server.mjs';

/** Builds the bundle when it is missing or older than a source file. Takes about a second when it has to. */
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

async function newestSource(folder: string): Promise<number> {
  const names = await readdir(folder, { recursive: true });
  const sources = names.filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'));
  return Math.max(...(await Promise.all(sources.map((name) => modifiedAt(join(folder, name))))));
}

/** Milliseconds since the epoch; 0 for what does not exist. */
function modifiedAt(path: string): Promise<number> {
  return stat(path).then(
    ({ mtimeMs }) => mtimeMs,
    () => 0,
  );
}
