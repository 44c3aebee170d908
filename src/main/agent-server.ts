import { closeSync, readFileSync } from 'node:fs';
import { Socket } from 'node:net';
import type { Worker } from 'node:worker_threads';
import { AgentServerError } from '#agent-server/errors.ts';
import { type ConfigPlace, type Invocation, parseArguments } from '#agent-server/process/arguments.ts';
import { createLineLog } from '#agent-server/process/line-log.ts';
import type { ThreadData } from '#agent-server/queue/store/thread.ts';
import type { AgentServer } from '#agent-server/server.ts';
import type { AgentServerConfig } from '#api/agent-server-config.ts';
import { knownSecrets } from '#api/known-secrets.ts';
import { systemClock } from '#kit/clock.ts';
import { closeInheritedDescriptors } from '#kit/descriptors.ts';
import { CodedError, messageOf } from '#kit/errors.ts';
import { systemRandom } from '#kit/random.ts';
import { createRedactor } from '#kit/redact.ts';

/*
 * Each mode loads only what it needs: the spawner stays small, so that its forks stay fast.
 */
const log = createLineLog((line) => process.stderr.write(redactor.text(line)), systemClock.now);
/** Knows the values of the configuration once that is read. */
let redactor = createRedactor([]);

async function main(): Promise<void> {
  if (process.argv[2] === queueRole) return serveQueue();
  const invocation = parseArguments(process.argv.slice(2));
  if (invocation.mode === 'spawner') await serveSpawner(invocation);
  else if (invocation.mode === 'plugins') await callPlugin(invocation);
  else if (invocation.mode === 'exec') await exec(invocation);
  else if (invocation.mode === 'repair-queue') await repair(invocation.folder);
  else await serve(invocation);
}

/** The first argument of the thread that this program starts of its own file. */
const queueRole = 'queue';
/** MiB of the thread's heap. The young part is small so that it is not grown for short-lived texts. */
const queueMemory = { maxOldGenerationSizeMb: 512, maxYoungGenerationSizeMb: 4 };

async function serveQueue(): Promise<void> {
  const { parentPort, workerData } = await import('node:worker_threads');
  const { serveStore } = await import('#agent-server/queue/store/thread.ts');
  if (parentPort !== null) serveStore(parentPort, workerData);
}

/** Loads what threads need only for an agent with tasks: it takes a megabyte. */
async function startQueueThread(workerData: ThreadData): Promise<Worker> {
  const threads = await import('node:worker_threads');
  const options = { argv: [queueRole], workerData, resourceLimits: queueMemory };
  return new threads.Worker(process.argv[1] ?? '', options);
}

/** The helper process: descriptor 3 leads to the agent-server. */
async function serveSpawner({
  generation,
  withoutReaper,
}: Extract<Invocation, { mode: 'spawner' }>): Promise<void> {
  const { runSpawner } = await import('#agent-server/spawner/spawner.ts');
  const { findReaper } = await import('./reaper.ts');
  closeInheritedDescriptors([3]);
  // The agent-server decides when to end; a Ctrl-C meant for it must not take the tools away first.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
  const found = withoutReaper ? { missing: 'it was switched off' } : findReaper();
  const reaper = 'path' in found ? found.path : undefined;
  if ('missing' in found && !withoutReaper)
    log.warn('Processes that leave their call are looked for by their traces: the reaper cannot be used', {
      reason: found.missing,
      remedy: 'On Linux `npm run build` makes it where there is a C compiler (cc).',
    });
  // Not by process.exit: it waits for V8's other threads, one of which may wait for this one, and then for ever.
  const onEnd = () => process.kill(process.pid, 'SIGKILL');
  const { reclaimYoung } = await import('./reclaim-young.ts');
  const connection = new Socket({ fd: 3 });
  runSpawner({ connection, generation, reaper, reclaim: reclaimYoung(), onEnd });
}

/** One call of a tool with `runner: plugins`. */
async function callPlugin(invocation: Extract<Invocation, { mode: 'plugins' }>): Promise<void> {
  const { runPluginCall } = await import('./plugins.ts');
  await runPluginCall(invocation);
}

async function repair(folder: string): Promise<void> {
  const { repairQueue } = await import('#agent-server/queue/repair/repair.ts');
  const { reportText } = await import('#agent-server/queue/repair/report-text.ts');
  try {
    process.stdout.write(reportText(repairQueue(folder, systemClock.now())));
  } catch (error) {
    const remedy = error instanceof CodedError ? error.remedy : undefined;
    log.error('The queue of tasks cannot be repaired', { error: messageOf(error), remedy });
    process.exit(1);
  }
}

async function exec({ command, ...place }: Extract<Invocation, { mode: 'exec' }>): Promise<void> {
  const { execCommand } = await import('#agent-server/process/exec.ts');
  const config = await readConfig(place);
  const onSignal = (listener: (signal: NodeJS.Signals) => void) => {
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, listener);
  };
  process.exit(await execCommand({ config, command, cwd: process.cwd(), log, onSignal }));
}

async function serve(invocation: Extract<Invocation, { mode: 'serve' }>): Promise<void> {
  const { startAgentServer } = await import('#agent-server/server.ts');
  const { reclaimYoung } = await import('./reclaim-young.ts');
  const { forInstance } = await import('#agent-server/config/agent-config.ts');
  const { overImage } = await import('#agent-server/config/image-environment.ts');
  const read = forInstance(await readConfig(invocation), withSlot(invocation.instance));
  const config = invocation.inImage ? { ...read, env: overImage(read.env, process.env) } : read;
  const server = await startAgentServer({
    config,
    redactor: () => redactor,
    listen: invocation.listen,
    withoutTokens: invocation.withoutTokens,
    spawnerCommand: [process.execPath, '--max-semi-space-size=1', process.argv[1] ?? '', 'spawner'],
    startQueueThread,
    reclaim: reclaimYoung(),
    clock: systemClock,
    random: systemRandom,
    log,
  });
  if (invocation.configFile !== undefined) await follow(invocation.configFile, config, server);
  let stopping = false;
  const stop = () => {
    if (stopping) process.exit(1);
    stopping = true;
    void server.close().then(() => process.exit(0));
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
}

/** A pod says which replica it is by a variable: earlier versions, which its controller may start, know no argument for it. */
function withSlot(instance: string | undefined): string | undefined {
  const slot = process.env['PLOINKY_SLOT'];
  return instance === undefined || slot === undefined || instance.includes('/')
    ? instance
    : `${instance}/${slot}`;
}

/** New keys come while the agent-server runs. */
async function follow(path: string, config: AgentServerConfig, server: AgentServer): Promise<void> {
  const { watchConfig } = await import('#agent-server/config/watch-config.ts');
  const { readSettings } = await import('#agent-server/config/settings.ts');
  const { configPollMs: pollMs } = readSettings(config.limits);
  const onConfig = (next: AgentServerConfig) => {
    redactor = createRedactor([...knownSecrets(config), ...knownSecrets(next)]);
    server.reconfigure(next);
  };
  watchConfig({ path, clock: systemClock, log, pollMs, onConfig });
}

async function readConfig({ configFd, configFile }: ConfigPlace): Promise<AgentServerConfig> {
  const { parseAgentConfig } = await import('#agent-server/config/agent-config.ts');
  const text = readFileSync(configFd ?? configFile ?? '', 'utf8');
  // 0 to 2 stay taken: what is opened next must not become anybody's standard stream.
  if (configFd !== undefined && configFd > 2) closeSync(configFd);
  const config = parseAgentConfig(text);
  redactor = createRedactor(knownSecrets(config));
  return config;
}

main().catch((error: unknown) => {
  const remedy = error instanceof AgentServerError ? error.remedy : undefined;
  log.error('The agent-server cannot start', {
    error: messageOf(error),
    ...(remedy !== undefined && { remedy }),
  });
  process.exit(error instanceof AgentServerError && error.code === 'Usage' ? 2 : 1);
});
