import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { checkout } from '#test/fixtures/workspace/workspace.ts';
import type { Paths, Substrate } from '../case.ts';

const packageFolder = join(checkout, 'test/peers/node_modules/@anthropic-ai/sandbox-runtime');

/** What is used of @anthropic-ai/sandbox-runtime. */
interface PeerModule {
  readonly SandboxManager: {
    initialize(config: unknown): Promise<void>;
    wrapWithSandbox(command: string): Promise<string>;
    cleanupAfterCommand(): void;
    reset(): Promise<void>;
  };
}

/** Programs that it needs on Linux besides bwrap. */
const needed = ['/usr/bin/socat', '/usr/bin/rg'];

/** Why it cannot run here; undefined: it can. */
export function missingPeer(): string | undefined {
  if (!existsSync(packageFolder))
    return '@anthropic-ai/sandbox-runtime is not installed (npm ci in test/peers)';
  const absent = needed.filter((program) => !existsSync(program));
  if (absent.length > 0) return `@anthropic-ai/sandbox-runtime needs ${absent.join(' and ')}`;
  return undefined;
}

export function peerVersion(): string {
  const { version } = JSON.parse(readFileSync(join(packageFolder, 'package.json'), 'utf8')) as {
    version: string;
  };
  return version;
}

/**
 * The peer as strict as its settings allow: no host of the network, the folders in which the test keeps what is private
 * hidden, and two folders to write, since the project that one works in is writable there.
 */
export async function openPeer(paths: Paths, hidden: readonly string[]): Promise<Substrate> {
  const { SandboxManager } = (await import(
    pathToFileURL(join(packageFolder, 'dist/index.js')).href
  )) as PeerModule;
  // What it protects by itself it protects below its working folder.
  const before = process.cwd();
  process.chdir(paths.project);
  await SandboxManager.initialize({
    network: { allowedDomains: [], deniedDomains: [] },
    filesystem: { denyRead: hidden, allowWrite: [paths.scratch, paths.project], denyWrite: [] },
  });
  return {
    name: 'peer',
    paths,
    async line(command) {
      const wrapped = await SandboxManager.wrapWithSandbox(command.map(quote).join(' '));
      const close = () => SandboxManager.cleanupAfterCommand();
      return { command: ['/bin/bash', '-c', wrapped], files: [], env: process.env, close };
    },
    async close() {
      await SandboxManager.reset();
      process.chdir(before);
    },
  };
}

function quote(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}
