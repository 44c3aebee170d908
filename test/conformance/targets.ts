import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { build } from 'esbuild';
import { checkout, createWorkspace } from '#test/fixtures/workspace/workspace.ts';
import type { Way } from './baseline.ts';

// The server that is measured, by itself (the control: what it fails there is the fixture's fault) and as an
// agent in its sandbox behind the router.

const fixture = join(checkout, 'test/fixtures/conformance-server');

export interface Target {
  readonly url: string;
  stop(): Promise<void>;
}

export const startTarget: Record<Way, () => Promise<Target>> = {
  direct: startDirect,
  router: () => startBehindRouter('/mcps/conformance/mcp'),
  aggregate: () => startBehindRouter('/mcp'),
};

/** One file with everything in it, so that a sandbox needs no packages. */
async function bundleFixture(outfile: string): Promise<void> {
  await build({
    entryPoints: [join(fixture, 'main.ts')],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    logLevel: 'warning',
  });
}

async function startDirect(): Promise<Target> {
  const folder = await mkdtemp(join(tmpdir(), 'conformance-'));
  const file = join(folder, 'server.mjs');
  await bundleFixture(file);
  const env = { PATH: process.env['PATH'], PORT: '0' };
  const child = spawn(process.execPath, [file], { stdio: ['ignore', 'pipe', 'inherit'], env });
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
  const port = /listens on (\d+)/.exec(line)?.[1];
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    async stop() {
      const ended = once(child, 'exit');
      child.kill();
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Puts the agent `conformance` into a workspace's folder. Returns the path of its manifest. */
export async function addConformanceAgent(root: string): Promise<string> {
  const folder = join(root, 'conformance');
  const manifest = join(folder, 'agent.yaml');
  await mkdir(join(folder, 'code'), { recursive: true });
  await bundleFixture(join(folder, 'code/server.mjs'));
  await cp(join(fixture, 'agent.yaml'), manifest);
  return manifest;
}

async function startBehindRouter(path: string): Promise<Target> {
  const workspace = await createWorkspace({ examples: [] });
  try {
    const url = await workspace.up('--apply', await addConformanceAgent(workspace.paths.root));
    return { url: `${url}${path}`, stop: () => workspace.remove() };
  } catch (error) {
    await workspace.remove();
    throw error;
  }
}
