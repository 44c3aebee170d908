import { execFile } from 'node:child_process';
import { copyFile, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { isBuiltin } from 'node:module';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type BuildOptions, build, type Metafile, type Plugin } from 'esbuild';

// Bundles the programs that run without the checkout. With names as arguments only those; `app` is a name, too.

const root = fileURLToPath(new URL('..', import.meta.url));
const maxBytes = 3 * 1024 * 1024;

/**
 * Node's modules as plain objects. An ES import of `node:http` reads every export of it, among them
 * WebSocket, whose getter loads all of undici: 20 ms of a start that takes 50. It also is what lets packages
 * that `require('fs')` run in an ES module.
 */
const builtins: Plugin = {
  name: 'builtins',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^(node:)?[a-z0-9_/]+$/ }, ({ path }) =>
      isBuiltin(path) ? { path: `node:${path.replace(/^node:/, '')}`, namespace: 'builtin' } : undefined,
    );
    onLoad({ filter: /.*/, namespace: 'builtin' }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule(${JSON.stringify(path)});`,
    }));
  },
};

/** Where undici has what the sources take of it: all of it is three times as much, which takes 18 ms of each start. */
const undiciFiles = {
  Agent: 'lib/dispatcher/agent.js',
  Pool: 'lib/dispatcher/pool.js',
  ProxyAgent: 'lib/dispatcher/proxy-agent.js',
  buildConnector: 'lib/core/connect.js',
};

/** A name that is not in the list ends the build with an error that says so. */
const smallUndici: Plugin = {
  name: 'small-undici',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^undici$/ }, ({ resolveDir }) =>
      resolveDir.startsWith(join(root, 'src')) ? { path: 'undici', namespace: 'small-undici' } : undefined,
    );
    onLoad({ filter: /.*/, namespace: 'small-undici' }, () => ({
      contents: [
        ...Object.entries(undiciFiles).map(
          ([name, file]) => `export { default as ${name} } from 'undici/${file}';`,
        ),
        // As undici's own index does.
        "import Dispatcher from 'undici/lib/dispatcher/dispatcher.js';",
        "import api from 'undici/lib/api/index.js';",
        'Object.assign(Dispatcher.prototype, api);',
      ].join('\n'),
      resolveDir: root,
    }));
  },
};

const common = {
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node24',
  minifyWhitespace: true,
  minifySyntax: true,
  minifyIdentifiers: true,
  legalComments: 'none',
  mainFields: ['module', 'main'],
  plugins: [builtins, smallUndici],
  logLevel: 'warning',
} as const satisfies BuildOptions;

/** What is bundled into one file each: the programs of which every agent has one, and the one that clients wait for. */
const programs = ['agent-server', 'shim', 'router'] as const;
type Program = (typeof programs)[number];

/** What the controller image runs, by the name that it has there. They share most of their code. */
const appEntries = {
  controller: 'src/main/cluster/controller.ts',
  router: 'src/main/cluster/router.ts',
  egress: 'src/main/cluster/egress.ts',
  ploinky: 'src/main/cli.ts',
};

/** Files that the router reads at run time from the folder of the code that reads them. */
const routerAssets = ['src/router/plugins/browser-client/mcp-browser-client.js'];

/**
 * Bundles a program into one file that needs nothing but Node, and returns the file's path. A bundled shim has half
 * the memory of one that Node strips the types of. The file is replaced atomically: programs that run keep theirs.
 */
export async function buildProgram(name: Program, folder = join(root, 'dist')): Promise<string> {
  const outfile = join(folder, `${name}.mjs`);
  await mkdir(folder, { recursive: true });
  const entryPoints = [join(root, `src/main/${name}.ts`)];
  const { outputFiles } = await build({ ...common, entryPoints, outfile, write: false });
  const [bundle] = outputFiles;
  if (bundle === undefined || bundle.contents.length > maxBytes) {
    throw new Error(`The bundle has ${bundle?.contents.length ?? 0} bytes; at most ${maxBytes} are wanted`);
  }
  const temporary = `${outfile}.${process.pid}.tmp`;
  await writeFile(temporary, bundle.contents);
  await rename(temporary, outfile);
  for (const path of name === 'router' ? routerAssets : [])
    await copyFile(join(root, path), join(folder, basename(path)));
  if (name === 'agent-server') await buildReaper(folder);
  return outfile;
}

/** It is tiny, needs no library, and so runs in any image and starts in a tenth of a millisecond. */
const reaperFlags = ['-nostdlib', '-static', '-Os', '-ffreestanding', '-fno-stack-protector'];

/**
 * Compiles the agent-server's helper into a folder, beside its bundle. Without a C compiler there is none, and the
 * agent-server says so when it starts: undefined then.
 */
export async function buildReaper(folder = join(root, 'dist')): Promise<string | undefined> {
  if (process.platform !== 'linux') return undefined;
  const outfile = join(folder, 'reaper');
  const temporary = `${outfile}.${process.pid}.tmp`;
  await mkdir(folder, { recursive: true });
  try {
    await promisify(execFile)('cc', [...reaperFlags, '-o', temporary, join(root, 'native/reaper.c')]);
  } catch (error) {
    console.warn(`dist/reaper is not built: ${error instanceof Error ? error.message : error}`);
    return undefined;
  }
  await rename(temporary, outfile);
  return outfile;
}

/**
 * Bundles the programs of the controller image, with shared chunks and without any package at run time, into a
 * folder, and returns it. All files are beside each other. The folder is replaced as a whole.
 */
export async function buildApp(folder = join(root, 'dist/app')): Promise<string> {
  const temporary = `${folder}.${process.pid}.tmp`;
  const entries = Object.entries(appEntries).map(([name, path]) => [name, join(root, path)]);
  await build({
    ...common,
    entryPoints: Object.fromEntries(entries),
    splitting: true,
    // Stack traces and the types of errors in logs keep the names of the source, for a megabyte or two.
    minifyIdentifiers: false,
    outdir: temporary,
    outExtension: { '.js': '.mjs' },
    chunkNames: 'chunk-[hash]',
  });
  for (const path of routerAssets) await copyFile(join(root, path), join(temporary, basename(path)));
  await rm(folder, { recursive: true, force: true });
  await mkdir(dirname(folder), { recursive: true });
  await rename(temporary, folder);
  return folder;
}

/** The packages (`name@version`) of which something is in a bundle, by bundle. Writes nothing. */
export async function bundledPackages(): Promise<ReadonlyMap<string, readonly string[]>> {
  const entries = [
    ...programs.map((name) => [`${name}.mjs`, `src/main/${name}.ts`] as const),
    ...Object.entries(appEntries).map(([name, path]) => [`app/${name}.mjs`, path] as const),
  ];
  // Together, which costs a third of each alone; what they share is in chunks.
  const entryPoints = Object.fromEntries(entries.map(([bundle, path]) => [bundle, join(root, path)]));
  const options = { ...common, entryPoints, splitting: true, outdir: join(root, 'dist/list') };
  const { metafile } = await build({ ...options, write: false, metafile: true });
  const found = entries.map(async ([bundle, path]) => {
    const output = Object.keys(metafile.outputs).find((name) => metafile.outputs[name]?.entryPoint === path);
    const folders = new Set(filesIn(metafile.outputs, output ?? '', new Set()).map(packageOf));
    const packages = [...folders].filter((folder) => folder !== undefined).map(nameAndVersion);
    return [bundle, (await Promise.all(packages)).sort()] as const;
  });
  return new Map(await Promise.all(found));
}

/** The files of which something is in an output, or in one that it imports. */
function filesIn(outputs: Metafile['outputs'], name: string, seen: Set<string>): string[] {
  const output = outputs[name];
  if (output === undefined || seen.has(name)) return [];
  seen.add(name);
  const own = Object.entries(output.inputs).filter(([, { bytesInOutput }]) => bytesInOutput > 0);
  return [
    ...own.map(([file]) => file),
    ...output.imports.flatMap(({ path }) => filesIn(outputs, path, seen)),
  ];
}

/** The folder of the package that a file is of. */
function packageOf(path: string): string | undefined {
  return /^.*node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(path)?.[0];
}

async function nameAndVersion(folder: string): Promise<string> {
  const text = await readFile(resolve(process.cwd(), folder, 'package.json'), 'utf8');
  const { name, version } = JSON.parse(text) as { name: string; version: string };
  return `${name}@${version}`;
}

async function sizeOf(path: string): Promise<number> {
  const found = await stat(path);
  if (!found.isDirectory()) return found.size;
  const sizes = await Promise.all((await readdir(path)).map((name) => sizeOf(join(path, name))));
  return sizes.reduce((sum, size) => sum + size, 0);
}

async function main(wanted: readonly string[]): Promise<void> {
  const builders = {
    ...Object.fromEntries(programs.map((name) => [name, () => buildProgram(name)])),
    app: buildApp,
  };
  for (const [name, run] of Object.entries(builders)) {
    if (wanted.length > 0 && !wanted.includes(name)) continue;
    const path = await run();
    console.log(`${path}: ${Math.round((await sizeOf(path)) / 1024)} KiB`);
  }
}

if (import.meta.main) await main(process.argv.slice(2));
