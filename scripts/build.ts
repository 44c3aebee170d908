import { mkdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type Plugin } from 'esbuild';

const root = fileURLToPath(new URL('..', import.meta.url));
const maxBytes = 3 * 1024 * 1024;

/**
 * Node's modules as plain objects. An ES import of `node:http` reads every export of it, among them
 * WebSocket, whose getter loads all of undici: 20 ms of a start that takes 50.
 */
const builtins: Plugin = {
  name: 'builtins',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^node:/ }, ({ path }) => ({ path, namespace: 'builtin' }));
    onLoad({ filter: /.*/, namespace: 'builtin' }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule(${JSON.stringify(path)});`,
    }));
  },
};

/** Bundles the agent-server with its spawner into one file that needs nothing but Node. Returns its path. */
export async function buildAgentServer(folder = join(root, 'dist')): Promise<string> {
  const outfile = join(folder, 'agent-server.mjs');
  await mkdir(folder, { recursive: true });
  const { outputFiles } = await build({
    entryPoints: [join(root, 'src/main/agent-server.ts')],
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    minify: true,
    keepNames: false,
    legalComments: 'none',
    mainFields: ['module', 'main'],
    conditions: ['import'],
    plugins: [builtins],
    outfile,
    write: false,
    logLevel: 'warning',
  });
  const [bundle] = outputFiles;
  if (bundle === undefined || bundle.contents.length > maxBytes) {
    throw new Error(`The bundle has ${bundle?.contents.length ?? 0} bytes; at most ${maxBytes} are wanted`);
  }
  await writeFile(outfile, bundle.contents);
  return outfile;
}

if (import.meta.main) {
  const path = await buildAgentServer();
  console.log(`${path}: ${Math.round((await stat(path)).size / 1024)} KiB`);
}
