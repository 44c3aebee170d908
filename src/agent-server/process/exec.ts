import type { AgentServerConfig } from '#api/agent-server-config.ts';
import type { Log } from '#kit/log.ts';
import { startChild } from './child-command.ts';
import { openForwards } from './forward.ts';

export interface ExecOptions {
  readonly config: AgentServerConfig;
  readonly command: readonly [string, ...string[]];
  /** Working folder of the command. */
  readonly cwd: string;
  readonly log: Log;
  /** Calls back for a signal that this process gets; it is passed on to the command's group. */
  readonly onSignal: (listener: (signal: NodeJS.Signals) => void) => void;
}

/**
 * Runs one command to its end with the workload's ways out open and nothing else of an agent-server: the
 * install step. Resolves to its exit code, 128 + n for signal n as shells do, 127 when it cannot start.
 */
export async function execCommand(options: ExecOptions): Promise<number> {
  const { config, log } = options;
  const forwards = await openForwards(config.forwards, log);
  const child = startChild({
    command: options.command,
    cwd: options.cwd,
    env: config.env,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  options.onSignal((signal) => child.pid !== undefined && process.kill(-child.pid, signal));
  return new Promise((resolve) => {
    child.once('error', (error) => {
      log.error('The command cannot start', { command: options.command[0], error });
      forwards.close();
      resolve(127);
    });
    child.once('exit', (code, signal) => {
      forwards.close();
      resolve(code ?? 128 + signalNumber(signal));
    });
  });
}

const signalNumbers: Readonly<Record<string, number>> = { SIGHUP: 1, SIGINT: 2, SIGKILL: 9, SIGTERM: 15 };

function signalNumber(signal: string | null): number {
  return signalNumbers[signal ?? ''] ?? 0;
}
