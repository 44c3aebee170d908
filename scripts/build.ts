import { mkdir, rename, stat, writeFile } from 'node:fs/promises';
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

/** What is bundled, and why: the programs of which every agent has one. */
const programs = ['agent-server', 'shim'] as const;
type Program = (typeof programs)[number];

/**
 * Bundles a program into one file that needs nothing but Node, and returns the file's path. A bundled shim has half
 * the memory of one that Node strips the types of. The file is replaced atomically: programs that run keep theirs.
 */
export async function buildProgram(name: Program, folder = join(root, 'dist')): Promise<string> {
  const outfile = join(folder, `${name}.mjs`);
  await mkdir(folder, { recursive: true });
  const { outputFiles } = await build({
    entryPoints: [join(root, `src/main/${name}.ts`)],
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
  const temporary = `${outfile}.${process.pid}.tmp`;
  await writeFile(temporary, bundle.contents);
  await rename(temporary, outfile);
  return outfile;
}

if (import.meta.main) {
  for (const name of programs) {
    const path = await buildProgram(name);
    console.log(`${path}: ${Math.round((await stat(path)).size / 1024)} KiB`);
  }
}
