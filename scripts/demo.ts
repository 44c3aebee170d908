import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { styleText } from 'node:util';

// Starts the example agents in a workspace of its own in a temporary folder, calls a tool of each through the
// router as any MCP client would, and stops. Exits with 0 only when every step did what it should.

const checkout = join(import.meta.dirname, '..');
const ploinky = join(checkout, 'bin/ploinky');

interface Call {
  readonly args: readonly string[];
  /** What the answer must contain. */
  readonly expect: string;
}

const calls: readonly Call[] = [
  { args: ['greet', '-p', 'name=Ana'], expect: 'Hello, Ana!' },
  { args: ['today'], expect: new Date().getUTCFullYear().toString() },
  { args: ['echo', '--agent', 'everything', '-p', 'message=ping'], expect: 'ping' },
  {
    args: ['write_file', '--agent', 'files', '-p', 'path=note.txt', '-p', 'content=kept in the workspace'],
    expect: 'Successfully wrote',
  },
  { args: ['read_text_file', '--agent', 'files', '-p', 'path=note.txt'], expect: 'kept in the workspace' },
  {
    args: [
      'create_entities',
      '--agent',
      'memory',
      '--json',
      '{"entities":[{"name":"Ana","entityType":"person","observations":["likes sandboxes"]}]}',
    ],
    expect: 'likes sandboxes',
  },
  { args: ['add', '--agent', 'own-server', '-p', 'a=19', '-p', 'b=23'], expect: '42' },
];

function heading(title: string): void {
  console.log(`\n${styleText('bold', `── ${title}`)}`);
}

/** The command as a person would type it. */
function shown(args: readonly string[]): string {
  const quoted = args.map((arg) => (/^[\w@%+=:,./-]+$/.test(arg) ? arg : `'${arg}'`));
  return styleText('cyan', `$ ploinky ${quoted.join(' ')}`);
}

/** Runs ploinky in the demo's workspace; what it says is seen as it comes. Throws when it fails. */
async function run(workspace: string, args: readonly string[]): Promise<string> {
  console.log(shown(args));
  const child = spawn(ploinky, [...args, '--workspace', workspace], { stdio: ['ignore', 'pipe', 'inherit'] });
  child.stdout.on('data', (data: Buffer) => process.stdout.write(data));
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  if (code !== 0) throw new Error(`ploinky ${args[0]} ended with exit code ${code}`);
  return output;
}

async function callTools(workspace: string): Promise<void> {
  for (const { args, expect } of calls) {
    const answer = await run(workspace, ['call', ...args]);
    if (!answer.includes(expect)) throw new Error(`the answer lacks "${expect}"`);
  }
}

async function lookAround(url: string): Promise<void> {
  for (const path of ['/hello/index.html', '/apis/own-server/time', '/health']) {
    const response = await fetch(`${url}${path}`);
    const body = await response.text();
    console.log(`${styleText('cyan', `GET ${url}${path}`)}  ${response.status}, ${body.length} characters`);
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${body.slice(0, 200)}`);
  }
}

async function show(workspace: string): Promise<void> {
  heading('Start five agents, each in a sandbox of its own');
  const started = performance.now();
  await run(workspace, ['up', '--detach', '--apply', workspace]);
  console.log(`Up with every agent ready after ${((performance.now() - started) / 1000).toFixed(1)} s`);
  heading('Their tools, as an MCP client lists them');
  await run(workspace, ['tools']);
  heading('Call a tool of each');
  await callTools(workspace);
  heading('How they are, and what else the router serves');
  const status = await run(workspace, ['status']);
  const [url] = /http:\/\/\S+/.exec(status) ?? [];
  if (url === undefined) throw new Error('the status names no URL');
  await lookAround(url);
}

const begun = performance.now();
const folder = await mkdtemp(join(tmpdir(), 'ploinky-demo-'));
// A Ctrl-C reaches the ploinky that runs, which ends; then this goes on to the end below.
process.on('SIGINT', () => undefined);
try {
  await cp(join(checkout, 'examples'), folder, {
    recursive: true,
    filter: (path) => !path.includes('.ploinky'),
  });
  await show(folder);
  heading('Stop');
  await run(folder, ['down']);
  const seconds = ((performance.now() - begun) / 1000).toFixed(1);
  console.log(
    `\n${styleText('green', '✓')} The demo worked, in ${seconds} s. Next: make up, then README.md.`,
  );
} catch (error) {
  console.error(`\n${styleText('red', '✗')} ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
  for (const args of [['status'], ['get', 'events'], ['down']]) {
    await run(folder, args).catch(() => undefined);
  }
  console.error(`The logs are in ${folder}/.ploinky/logs`);
} finally {
  if (process.exitCode !== 1) await rm(folder, { recursive: true });
}
