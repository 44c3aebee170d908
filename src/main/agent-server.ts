import { closeSync, readFileSync } from 'node:fs';
import { Socket } from 'node:net';
import { parseAgentConfig } from '#agent-server/config/agent-config.ts';
import { AgentServerError } from '#agent-server/errors.ts';
import { type Invocation, parseArguments } from '#agent-server/process/arguments.ts';
import { execCommand } from '#agent-server/process/exec.ts';
import { createLineLog } from '#agent-server/process/line-log.ts';
import { startAgentServer } from '#agent-server/server.ts';
import { runSpawner } from '#agent-server/spawner/spawner.ts';
import { systemClock } from '#kit/clock.ts';
import { closeInheritedDescriptors } from '#kit/descriptors.ts';
import { messageOf } from '#kit/errors.ts';
import { systemRandom } from '#kit/random.ts';

const log = createLineLog((line) => process.stderr.write(line), systemClock.now);

async function main(): Promise<void> {
  const invocation = parseArguments(process.argv.slice(2));
  if (invocation.mode === 'spawner') serveSpawner(invocation.generation);
  else if (invocation.mode === 'exec') await exec(invocation);
  else await serve(invocation);
}

/** The helper process: descriptor 3 leads to the agent-server. */
function serveSpawner(generation: string): void {
  closeInheritedDescriptors([3]);
  // The agent-server decides when to end; a Ctrl-C meant for it must not take the tools away first.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
  runSpawner({ connection: new Socket({ fd: 3 }), generation, onEnd: () => process.exit(0) });
}

async function exec({ configFd, command }: Extract<Invocation, { mode: 'exec' }>): Promise<void> {
  const config = parseAgentConfig(readConfig({ configFd }));
  const onSignal = (listener: (signal: NodeJS.Signals) => void) => {
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, listener);
  };
  process.exit(await execCommand({ config, command, cwd: process.cwd(), log, onSignal }));
}

async function serve(invocation: Extract<Invocation, { mode: 'serve' }>): Promise<void> {
  const config = parseAgentConfig(readConfig(invocation));
  const server = await startAgentServer({
    config,
    listen: invocation.listen,
    withoutTokens: invocation.withoutTokens,
    spawnerCommand: [process.execPath, '--max-semi-space-size=1', process.argv[1] ?? '', 'spawner'],
    clock: systemClock,
    random: systemRandom,
    log,
  });
  let stopping = false;
  const stop = () => {
    if (stopping) process.exit(1);
    stopping = true;
    void server.close().then(() => process.exit(0));
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
}

function readConfig({
  configFd,
  configFile,
}: {
  configFd?: number | undefined;
  configFile?: string | undefined;
}): string {
  if (configFd === undefined) return readFileSync(configFile ?? '', 'utf8');
  const text = readFileSync(configFd, 'utf8');
  closeSync(configFd);
  return text;
}

main().catch((error: unknown) => {
  const remedy = error instanceof AgentServerError ? error.remedy : undefined;
  log.error('The agent-server cannot start', {
    error: messageOf(error),
    ...(remedy !== undefined && { remedy }),
  });
  process.exit(error instanceof AgentServerError && error.code === 'Usage' ? 2 : 1);
});
