import { access, readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Cli, Workspace } from '#cli/context.ts';
import { runCli } from '#cli/program.ts';
import { createPrompter } from '#cli/prompter.ts';
import { createTerminal } from '#cli/terminal.ts';
import { systemClock } from '#kit/clock.ts';
import { systemRandom } from '#kit/random.ts';
import { createClient } from '#kube/client.ts';
import { unixEndpoint } from '#kube/endpoint.ts';
import { doctorChecks } from '#workspace/doctor/checks.ts';
import { ensureState } from '#workspace/folders.ts';
import { hostFacts, locateWorkspace } from '#workspace/host.ts';
import { parseLease } from '#workspace/lease.ts';
import { findHolder } from '#workspace/lock.ts';
import { readForImport } from '#workspace/secrets/env-file.ts';
import { openWorkspaceSecrets } from '#workspace/secrets/open.ts';
import { startWorkspace } from '#workspace/start.ts';
import { stopWorkspace } from '#workspace/stop.ts';
import { ensureBundles } from './bundle.ts';
import { calledAs, findChart, openCluster, runHelm } from './cli-cluster.ts';
import { programOf } from './cli-program.ts';
import { findReaper } from './reaper.ts';
import { version } from './version.ts';

const mainFolder = import.meta.dirname;
const checkout = join(mainFolder, '../..');

/** The watchdog's own graces are 15 s for sandboxes and twice 15 s for its children. */
const stopTimeoutMs = 60_000;

async function openWorkspace(folder: string): Promise<Workspace> {
  const paths = await locateWorkspace(folder, process.env);
  const { uid } = hostFacts(process.env);
  return {
    root: paths.root,
    kubeconfig: paths.kubeconfig,
    logs: paths.logs,
    agentLog: paths.agentLog,
    init: async () => {
      const there = await access(paths.state).then(
        () => true,
        () => false,
      );
      await ensureState(paths, uid);
      return !there;
    },
    running: () => findHolder(paths.running),
    wasStopped: async () => parseLease(await readFile(paths.lease, 'utf8').catch(() => ''))?.state !== 'up',
    start: async ({ port, progress, routerFlags = [] }) => {
      await ensureBundles(checkout, progress);
      return startWorkspace({
        paths,
        uid,
        port,
        node: process.execPath,
        watchdogMain: join(mainFolder, 'watchdog.ts'),
        watchdogFlags: ['--router-flags', JSON.stringify(routerFlags)],
        env: process.env,
      });
    },
    stop: () => stopWorkspace({ paths, clock: systemClock, timeoutMs: stopTimeoutMs }),
    openClient: () => createClient({ endpoint: unixEndpoint(paths.apiSocket), clock: systemClock }),
    openSecrets: async () => {
      await ensureState(paths, uid);
      return openWorkspaceSecrets(paths, { env: process.env, uid, random: systemRandom });
    },
  };
}

/**
 * The first Ctrl-C asks the command to end; the second ends the program. A terminal that is closed asks, too:
 * both the kernel and the shell then send SIGHUP, so that repeats of it mean nothing.
 */
function interruptOnSignals(): AbortSignal {
  const controller = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      if (controller.signal.aborted && signal !== 'SIGHUP') process.exit(130);
      controller.abort(new Error(`interrupted by ${signal}`));
    });
  }
  return controller.signal;
}

const interrupted = interruptOnSignals();

const cli: Cli = {
  terminal: createTerminal(process.stdout, process.stderr, process.env),
  clock: systemClock,
  version,
  calledAs: calledAs(process.env, process.argv[1]),
  interrupted,
  openWorkspace,
  openCluster,
  runHelm: (args) => runHelm(args, interrupted),
  findChart: () => findChart(mainFolder, checkout),
  checks: doctorChecks(process.env, () => findReaper(mainFolder)),
  readStdin: () => text(process.stdin),
  parseEnvFile: readForImport,
  streams: { input: process.stdin, output: process.stdout },
  prompter:
    process.stdin.isTTY && process.stderr.isTTY ? createPrompter(process.stdin, process.stderr) : undefined,
  program: await programOf(mainFolder, checkout),
  machine: {
    platform: process.platform,
    /** Asked for when it is needed: who runs in a container may have none. */
    get home() {
      return homedir();
    },
    folder: process.cwd(),
    env: process.env,
  },
};

// A reader that has seen enough (`ploinky get agents | head -1`) is no error.
process.stdout.on('error', () => {
  if (!interrupted.aborted) process.exit(0);
});
// Notes to a terminal that was closed are lost; what they tell of goes on.
process.stderr.on('error', () => undefined);
process.exitCode = await runCli(process.argv.slice(2), cli);
// Handlers of signals and a watchdog's pipe must not keep a finished command alive.
process.stdout.write('', () => process.exit());
