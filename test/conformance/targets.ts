import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { build } from 'esbuild';
import { parse } from 'yaml';
import { spawnerCommand, testConfig } from '#agent-server/testing/harness.ts';
import { checkout } from '#test/fixtures/workspace/workspace.ts';

// The server that is measured: as a process, and as an agent.

const fixture = join(checkout, 'test/fixtures/conformance-server');
const commandsFixture = join(checkout, 'test/fixtures/conformance-tasks');

/** The server by itself. */
export interface Direct {
  readonly url: string;
  stop(): Promise<void>;
}

/** How the agent differs from the one in agent.yaml: of one era only, on standard input and output, or of commands alone. */
export interface Variant {
  readonly eras?: '2025' | '2026';
  readonly stdio?: boolean;
  readonly commands?: boolean;
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
  { eras, stdio = false, commands = false }: Variant = {},
): Promise<string> {
  if (commands) return addCommandsAgent(folder);
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

interface CommandsAgent {
  readonly spec: { readonly mcp: Record<string, unknown> };
}

async function readCommands(): Promise<{ agent: CommandsAgent; code: string }> {
  const text = await readFile(join(commandsFixture, 'agent.yaml'), 'utf8');
  const code = await readFile(join(commandsFixture, 'tools.mjs'), 'utf8');
  return { agent: parse(text) as CommandsAgent, code };
}

async function addCommandsAgent(folder: string): Promise<string> {
  const { agent, code } = await readCommands();
  const file = join(folder, 'conformance.json');
  const spec = { ...agent.spec, code: { inline: { 'tools.mjs': code } } };
  await writeFile(file, JSON.stringify({ ...agent, spec }));
  return file;
}

/** The same commands at an agent-server by itself, which asks for no tokens. */
export async function startCommands(): Promise<Direct> {
  const folder = await mkdtemp(join(tmpdir(), 'conformance-'));
  const { agent, code } = await readCommands();
  await writeFile(join(folder, 'tools.mjs'), code);
  const config = testConfig(folder, { mcp: agent.spec.mcp });
  const file = join(folder, 'config.json');
  await writeFile(file, JSON.stringify(config));
  const args = [spawnerCommand[1] ?? '', '--config-file', file, '--listen', '127.0.0.1:0', '--no-tokens'];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  let address: string | undefined;
  for await (const line of createInterface(child.stderr)) {
    address = /"address":"([^"]+)"/.exec(line)?.[1];
    if (address !== undefined) break;
  }
  child.stderr.resume();
  if (address === undefined) throw new Error('The agent-server does not listen');
  return {
    url: `http://${address}/mcp`,
    async stop() {
      const ended = once(child, 'exit');
      child.kill();
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}
