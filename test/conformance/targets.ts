import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { build } from 'esbuild';
import { parse } from 'yaml';
import { checkout } from '#test/fixtures/workspace/workspace.ts';

// The server that is measured: as a process, and as an agent.

const fixture = join(checkout, 'test/fixtures/conformance-server');

/** The server by itself. */
export interface Direct {
  readonly url: string;
  stop(): Promise<void>;
}

/** How the agent differs from the one in agent.yaml: of one era only, or on standard input and output. */
export interface Variant {
  readonly eras?: '2025' | '2026';
  readonly stdio?: boolean;
}

/** One file with everything in it, so that a sandbox needs no packages. */
async function bundleFixture(outfile: string): Promise<void> {
  await build({
    entryPoints: [join(fixture, 'main.ts')],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    minify: true,
    logLevel: 'warning',
  });
}

export async function startDirect(): Promise<Direct> {
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

/** Writes a file with the agent `conformance` and its code into a folder. Returns the file's path. */
export async function addConformanceAgent(
  folder: string,
  { eras, stdio = false }: Variant = {},
): Promise<string> {
  const code = join(folder, 'server.mjs');
  await bundleFixture(code);
  const agent = parse(await readFile(join(fixture, 'agent.yaml'), 'utf8')) as { spec: Spec };
  const { command, ...rest } = agent.spec;
  const onStreams = { ...rest, mcp: { upstream: { stdio: ['node', '/code/server.mjs', '--stdio'] } } };
  const variant = {
    ...(stdio ? onStreams : { ...rest, command }),
    ...(eras !== undefined && { env: [{ name: 'ERAS', value: eras }] }),
  };
  const inline = { 'server.mjs': await readFile(code, 'utf8') };
  const file = join(folder, 'conformance.json');
  await writeFile(file, JSON.stringify({ ...agent, spec: { ...variant, code: { inline } } }));
  return file;
}

interface Spec {
  readonly command: readonly string[];
  readonly mcp: object;
}
