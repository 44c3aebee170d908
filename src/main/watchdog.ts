import { closeSync, readFileSync, writeSync } from 'node:fs';
import { unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock } from '#kit/clock.ts';
import { CodedError, codeOf, messageOf } from '#kit/errors.ts';
import { systemRandom } from '#kit/random.ts';
import { checkHealth } from '#watchdog/health.ts';
import { openJournal } from '#watchdog/journal.ts';
import { openRotatingLog } from '#watchdog/rotating-log.ts';
import { configurationExitCode, settingsFromEnvironment } from '#watchdog/settings.ts';
import { spawnProgram } from '#watchdog/spawn.ts';
import { startWatchdog, type Watchdog } from '#watchdog/watchdog.ts';
import { removeControlGroups } from '#workspace/control-groups.ts';
import { workspaceErrors } from '#workspace/errors.ts';
import { ensureWorkspace, removeRuntime } from '#workspace/folders.ts';
import { loadRestarts, saveRestarts } from '#workspace/history.ts';
import { hostFacts, locateWorkspace } from '#workspace/host.ts';
import { leaseInterval, writeLease } from '#workspace/lease.ts';
import { holderOf, takeLock } from '#workspace/lock.ts';
import type { WorkspacePaths } from '#workspace/paths.ts';
import type { StartReport } from '#workspace/start.ts';
import { endWorkloads } from '#workspace/workloads.ts';
import { parseFlags } from './options.ts';
import { workspaceProcesses } from './processes.ts';

/** Started by `ploinky up` with the router's listening socket as descriptor 3 and a report pipe as 4. */
const listenFd = 3;
const reportFd = 4;

function report(outcome: StartReport): void {
  try {
    writeSync(reportFd, `${JSON.stringify(outcome)}\n`);
    closeSync(reportFd);
  } catch {
    // Whoever started us is gone, or got its report already.
  }
}

function reportFailure(error: unknown): void {
  const remedy = error instanceof CodedError ? error.remedy : undefined;
  report({
    ready: false,
    code: codeOf(error) ?? 'StartFailed',
    message: messageOf(error),
    ...(remedy === undefined ? {} : { remedy }),
  });
}

async function run(): Promise<number> {
  const flags = parseFlags(process.argv.slice(2), {
    workspace: undefined,
    port: undefined,
    'main-folder': import.meta.dirname,
    'environment-fd': '',
    'router-flags': '[]',
  });
  const handed = readHanded(flags['environment-fd']);
  const paths = await locateWorkspace(flags.workspace, process.env);
  await ensureWorkspace(paths, hostFacts(process.env).uid);
  const url = `http://127.0.0.1:${flags.port}`;
  await takeLock(paths.running, holderOf(process.pid, url, systemClock.now()), systemRandom);
  const pidFile = join(paths.running, 'router.pid');
  await writeFile(pidFile, `${process.pid}\n`, { mode: 0o600 });
  try {
    return await supervise(paths, {
      ...{ port: Number(flags.port), mainFolder: flags['main-folder'], handed },
      routerFlags: JSON.parse(flags['router-flags']) as string[],
    });
  } finally {
    await removeControlGroups(paths.controlGroup);
    await removeRuntime(paths);
    await unlink(pidFile);
  }
}

/** What of the environment of `ploinky up` may be secret; '{}' when nothing was handed over. */
function readHanded(descriptor: string): string {
  if (descriptor === '') return '{}';
  const text = readFileSync(Number(descriptor), 'utf8');
  closeSync(Number(descriptor));
  return text;
}

interface Supervised {
  readonly port: number;
  readonly mainFolder: string;
  /** JSON of what may be secret of the environment. */
  readonly handed: string;
  readonly routerFlags: readonly string[];
}

async function supervise(
  paths: WorkspacePaths,
  { port, mainFolder, handed, routerFlags }: Supervised,
): Promise<number> {
  const journal = openJournal(openLog(join(paths.logs, 'watchdog.log')), systemClock, process.pid);
  process.on('uncaughtExceptionMonitor', (error, origin) => {
    const isRejection = origin === 'unhandledRejection';
    journal('error', isRejection ? 'watchdog_unhandled_rejection' : 'watchdog_uncaught_exception', { error });
  });
  const settings = settingsFromEnvironment(process.env);
  const historyFile = join(paths.running, 'restarts.json');
  const watchdog = await startWatchdog({
    children: workspaceProcesses({
      paths,
      port,
      mainFolder,
      listenFd,
      env: process.env,
      handed,
      routerFlags,
    }),
    settings,
    clock: systemClock,
    random: systemRandom,
    journal,
    outputFor: (name) =>
      openRotatingLog(join(paths.logs, `${name}.log`), {
        onError: (error) => journal('error', 'router_output_log_failed', { server: name, error }),
      }),
    spawn: spawnProgram,
    checkHealth,
    lease: {
      intervalMs: leaseInterval,
      write: (counter, state) => writeLease(paths.lease, { pid: process.pid, counter, state }),
    },
    endWorkloads: (onKill) =>
      endWorkloads(paths.workloads, { clock: systemClock, graceMs: settings.workloadGrace, onKill }),
    history: {
      loaded: loadRestarts(historyFile),
      save: (restarts) => saveRestarts(historyFile, restarts),
    },
  });
  stopOnSignals(watchdog);
  watchdog.ready.then(
    () => report({ ready: true }),
    (error: unknown) => {
      const remedy = `Read the logs in ${paths.logs}.`;
      reportFailure(new CodedError(workspaceErrors.StartFailed, messageOf(error), { remedy }));
    },
  );
  return watchdog.ended;
}

function stopOnSignals(watchdog: Watchdog): void {
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    process.on(signal, () => watchdog.stop(signal));
  }
}

/** The last resort's errors go to standard error, which `up` keeps in a file. */
function openLog(path: string) {
  return openRotatingLog(path, { onError: (error) => console.error(messageOf(error)) });
}

run().then(
  (exitCode) => process.exit(exitCode),
  (error: unknown) => {
    console.error(error);
    reportFailure(error);
    process.exit(configurationExitCode);
  },
);
