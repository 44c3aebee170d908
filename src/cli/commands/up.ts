import { type Command, InvalidArgumentError } from 'commander';
import type { AgentStage } from '../agent-summary.ts';
import { applyManifest } from '../apply.ts';
import type { Cli, StartedWorkspace, Workspace } from '../context.ts';
import { CliError } from '../errors.ts';
import { exitCodes } from '../exit-codes.ts';
import { nameOfObject } from '../kinds.ts';
import { readManifests } from '../manifests.ts';
import { printSummary } from '../summary.ts';
import { type GlobalOptions, requireWorkspace } from '../target.ts';
import { type WaitOutcome, waitForAgents } from '../wait-agents.ts';

interface UpOptions extends GlobalOptions {
  readonly detach?: true;
  readonly port?: number;
  readonly apply?: readonly string[];
  /** Seconds. */
  readonly timeout: number;
  readonly publicUrl?: string;
  readonly trustProxy?: string;
  readonly issuerHosts?: string;
  readonly sessionHours?: string;
}

const examples = `
Without --detach it stays until Ctrl-C, which ends everything it started.

Examples:
  ploinky up --apply examples            start, apply what is in the folder, stay
  ploinky up --detach && ploinky status  start and go on
  ploinky up --port 9000                 the router on a port of your choice`;

export function addUp(program: Command, cli: Cli): void {
  program
    .command('up')
    .description('start the workspace: API, controller, router and its agents')
    .option('-d, --detach', 'return when the agents are ready')
    .option('--port <number>', 'port of the router (default: 8080 or the next free one)', parsePort)
    .option('--apply <path>', 'apply this file or folder first; may be repeated', collect)
    .option('--timeout <seconds>', 'how long agents may take to be ready', parseSeconds, 600)
    .option(
      '--public-url <origin>',
      'where browsers see it, behind a proxy of yours: https://agents.example.org',
    )
    .option('--trust-proxy <addresses>', 'proxies whose X-Forwarded-For counts')
    .option('--issuer-hosts <hosts>', 'login providers that may be at private addresses')
    .option('--session-hours <number>', 'nobody stays logged in longer (default: 168)')
    .addHelpText('after', examples)
    .action(async (_options: unknown, command: Command) => {
      await up(cli, command.optsWithGlobals<UpOptions>());
    });
}

async function up(cli: Cli, options: UpOptions): Promise<void> {
  const { terminal } = cli;
  const folder = requireWorkspace('up', options, 'Install Ploinky into a cluster with `ploinky install`.');
  const workspace = await cli.openWorkspace(folder);
  const manifests = await readAll(cli, options.apply ?? []);
  const started = await workspace.start({
    port: options.port,
    routerFlags: routerFlags(options),
    progress: (text) => terminal.note(text),
  });
  try {
    await orInterrupted(cli, started.ready);
    terminal.note(`Workspace ${workspace.root} is up: ${started.url}`);
    const outcome = await applyAndWait(cli, workspace, manifests, options);
    printSummary(cli, workspace, started, outcome.lines);
    if (options.detach) requireReady(outcome, options.timeout);
  } catch (error) {
    if (!cli.interrupted.aborted) throw error;
    await stop(cli, workspace);
    return;
  }
  if (options.detach) return;
  terminal.note('Press Ctrl-C to stop.');
  await stayUntilEnd(cli, workspace, started);
}

/** Checked by the router itself, which says what is wrong with one. */
function routerFlags({ publicUrl, trustProxy, issuerHosts, sessionHours }: UpOptions): string[] {
  return [
    ...(publicUrl === undefined ? [] : [`--public-url=${publicUrl}`]),
    ...(trustProxy === undefined ? [] : [`--trust-proxy=${trustProxy}`]),
    ...(issuerHosts === undefined ? [] : [`--issuer-hosts=${issuerHosts}`]),
    ...(sessionHours === undefined ? [] : [`--session-hours=${sessionHours}`]),
  ];
}

async function readAll(cli: Cli, paths: readonly string[]) {
  const manifests = await Promise.all(paths.map((path) => readManifests(path, () => cli.readStdin())));
  return manifests.flat();
}

async function applyAndWait(
  cli: Cli,
  workspace: Workspace,
  manifests: Awaited<ReturnType<typeof readAll>>,
  options: UpOptions,
): Promise<WaitOutcome> {
  const client = workspace.openClient();
  try {
    for (const manifest of manifests) {
      const { outcome } = await applyManifest(client, manifest, {
        namespace: 'default',
        force: false,
        dryRun: false,
      });
      cli.terminal.note(`${nameOfObject(manifest.resource, manifest.object.metadata.name)} ${outcome}`);
    }
    const agents = manifests.filter(({ resource }) => resource.kind === 'Agent');
    const expected = agents.map(({ object }) => object.metadata.name);
    return await waitForAgents(cli, client, {
      namespace: 'default',
      expected,
      timeoutMs: options.timeout * 1000,
    });
  } finally {
    await client.close();
  }
}

/** Throws unless every agent is Ready or stopped on purpose. The workspace stays up either way. */
function requireReady({ lines, settled }: WaitOutcome, seconds: number): void {
  const remedy = 'The workspace stays up. `ploinky describe agent NAME` and `ploinky logs NAME` tell more.';
  const named = (stage: AgentStage) =>
    lines
      .filter(({ summary }) => summary.stage === stage)
      .map(({ name, summary }) => `${name} (${summary.reason})`)
      .join(', ');
  if (!settled)
    throw new CliError(exitCodes.timedOut, `not ready after ${seconds} s: ${named('Working')}`, remedy);
  const failed = named('Failed');
  if (failed !== '') throw new CliError(exitCodes.failed, `not ready: ${failed}`, remedy);
}

/** Until Ctrl-C, which stops the workspace, or until `down` did, or something else ended it. */
async function stayUntilEnd(cli: Cli, workspace: Workspace, started: StartedWorkspace): Promise<void> {
  while (!cli.interrupted.aborted) {
    const running = await workspace.running();
    if (running?.pid !== started.pid) {
      if (running === undefined && !(await workspace.wasStopped())) {
        const remedy = `\`ploinky up\` goes on with what runs. Read ${workspace.logs}/watchdog.log.`;
        throw new CliError(exitCodes.failed, 'the workspace’s watchdog was killed', remedy);
      }
      cli.terminal.note('The workspace was stopped by `ploinky down`.');
      return;
    }
    await cli.clock.sleep(500, cli.interrupted).catch(() => undefined);
  }
  await stop(cli, workspace);
}

async function stop(cli: Cli, workspace: Workspace): Promise<void> {
  cli.terminal.note('Stopping…');
  await workspace.stop();
  cli.terminal.note('Stopped.');
}

function orInterrupted<T>(cli: Cli, promise: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(cli.interrupted.reason);
    cli.interrupted.addEventListener('abort', onAbort, { once: true });
    promise.then(resolve, reject).finally(() => cli.interrupted.removeEventListener('abort', onAbort));
  });
}

function collect(value: string, previous: readonly string[] = []): string[] {
  return [...previous, value];
}

function parsePort(text: string): number {
  const port = Number(text);
  if (Number.isInteger(port) && port >= 1 && port <= 65_535) return port;
  throw new InvalidArgumentError('It must be a number from 1 to 65535.');
}

function parseSeconds(text: string): number {
  const seconds = Number(text);
  if (Number.isFinite(seconds) && seconds > 0) return seconds;
  throw new InvalidArgumentError('It must be a number of seconds above 0.');
}
