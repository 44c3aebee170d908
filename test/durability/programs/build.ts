import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { build } from 'esbuild';

export const programs = import.meta.dirname;

export interface Built {
  readonly program: string;
  readonly thread: string;
}

/** Bundles a program of these tests and its store's thread into the folder: it is started hundreds of times. */
export async function buildPrograms(name: string, folder: string): Promise<Built> {
  await build({
    entryPoints: [join(programs, `${name}.ts`), join(programs, 'store-thread.ts')],
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    logLevel: 'warning',
    banner: {
      js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
    },
  });
  return { program: join(folder, `${name}.mjs`), thread: join(folder, 'store-thread.mjs') };
}

/** The library that stands before the C library; a sentence when it cannot be built here. */
export function buildShim(folder: string): { readonly library: string } | { readonly missing: string } {
  const library = join(folder, 'shim.so');
  const { error, status, stderr } = spawnSync(
    'cc',
    ['-shared', '-fPIC', '-O1', '-Wall', '-o', library, join(programs, 'shim.c'), '-ldl'],
    { encoding: 'utf8' },
  );
  if (error !== undefined) return { missing: 'there is no C compiler (cc)' };
  if (status !== 0) return { missing: `the C compiler refused: ${stderr.trim().split('\n').at(-1)}` };
  const { stdout } = spawnSync(process.execPath, ['-p', '1'], {
    env: { LD_PRELOAD: library },
    encoding: 'utf8',
  });
  return stdout.trim() === '1' ? { library } : { missing: 'node does not start with a preloaded library' };
}
