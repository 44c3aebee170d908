import { spawn } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { CannotRun } from '../harness/bench.ts';
import { hasProgram } from './wrk.ts';

/** A program that is built once from its public sources, outside of any checkout. */
interface Build {
  readonly name: string;
  readonly toolchain: string;
  /** Below the folder of the build. */
  readonly file: string;
  readonly command: (folder: string) => {
    readonly args: readonly string[];
    readonly env?: Record<string, string>;
  };
}

export const rustProxy: Build = {
  name: 'mcp-proxy-rs-0.6.0',
  toolchain: 'cargo',
  file: 'bin/mcp-proxy',
  command: (folder) => ({
    args: ['install', 'mcp-proxy', '--version', '0.6.0', '--locked', '--root', folder],
  }),
};

export const vmcp: Build = {
  name: 'vmcp-0.47.0',
  toolchain: 'go',
  file: 'vmcp',
  command: (folder) => ({
    args: ['install', 'github.com/stacklok/toolhive/cmd/vmcp@v0.47.0'],
    env: { GOBIN: folder, GOFLAGS: '-buildvcs=false' },
  }),
};

function cacheFolder(): string {
  return join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'ploinky/peers');
}

/** Path of the program, built when it is not there yet: some minutes, with the toolchain's own words as progress. */
export async function ensureBuilt(build: Build): Promise<string> {
  const folder = join(cacheFolder(), build.name);
  const file = join(folder, build.file);
  if (existsSync(file)) return file;
  if (!hasProgram(build.toolchain))
    throw new CannotRun(`${build.name} is not built and ${build.toolchain} is missing`);
  mkdirSync(folder, { recursive: true });
  console.log(`Building ${build.name} with ${build.toolchain}, once, in ${folder}: this takes minutes…`);
  const { args, env } = build.command(folder);
  const child = spawn('nice', ['-n', '19', build.toolchain, ...args], {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, ...env },
  });
  const code = await new Promise((resolve) => {
    child.once('exit', resolve);
    child.once('error', resolve);
  });
  if (code !== 0 || !existsSync(file))
    throw new CannotRun(`${build.name} could not be built (${build.toolchain}: ${code})`);
  return file;
}
