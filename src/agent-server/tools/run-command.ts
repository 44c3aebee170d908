import type { Clock } from '#kit/clock.ts';
import { killedRemedy } from '../process/killed.ts';
import type { RunningCall, Spawner } from './spawner-client.ts';
import type { Exit, SpawnFailure } from './spawner-protocol.ts';

/** How one process ended and what it wrote. */
export type Outcome =
  | { readonly type: 'exited'; readonly exit: Exit; readonly stdout: Buffer; readonly stderr: Buffer }
  | { readonly type: 'failed'; readonly failure: SpawnFailure }
  | { readonly type: 'timeout'; readonly stdout: Buffer; readonly stderr: Buffer }
  /** The spawner died under it. */
  | { readonly type: 'lost' };

export interface RunOptions {
  readonly spawner: Spawner;
  readonly clock: Clock;
  readonly template: number;
  readonly stdin: string;
  /** Milliseconds; the whole process group ends then. */
  readonly timeoutMs: number;
  /** Kills it too; the run then rejects with the signal's reason. */
  readonly signal: AbortSignal;
  /** One line of JSON that the tool wrote to fd 3. */
  readonly onEvent?: (line: Buffer, run: RunningCall) => void;
  /** Every piece of output as it comes, for a log. */
  readonly onOutput?: (bytes: Buffer) => void;
}

/**
 * Runs one fresh process to its end. Resolves when nothing of it runs any more, also after a timeout;
 * rejects only for an abort, then too after everything has ended.
 */
export function runCommand(options: RunOptions): Promise<Outcome> {
  const { signal, clock } = options;
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason);
      return;
    }
    const stdout: Buffer[] = [];
    const stderr: Buffer[] = [];
    let timedOut = false;
    const collect = (into: Buffer[]) => (bytes: Buffer) => {
      into.push(bytes);
      options.onOutput?.(bytes);
    };
    const run = options.spawner.start(options.template, options.stdin, {
      onStdout: collect(stdout),
      onStderr: collect(stderr),
      onEvent: (line) => options.onEvent?.(line, run),
      onFailed: (failure) => settle({ type: 'failed', failure }),
      onLost: () => settle({ type: 'lost' }),
      onExit(exit) {
        const output = { stdout: joined(stdout), stderr: joined(stderr) };
        settle(timedOut ? { type: 'timeout', ...output } : { type: 'exited', exit, ...output });
      },
    });
    const cancelTimer = clock.after(options.timeoutMs, () => {
      timedOut = true;
      run.kill();
    });
    const onAbort = () => run.kill();
    signal.addEventListener('abort', onAbort, { once: true });

    function settle(outcome: Outcome): void {
      cancelTimer();
      signal.removeEventListener('abort', onAbort);
      if (signal.aborted) reject(signal.reason);
      else resolve(outcome);
    }
  });
}

function joined(parts: readonly Buffer[]): Buffer {
  const [only] = parts;
  return parts.length === 1 && only !== undefined ? only : Buffer.concat(parts);
}

/** What to say of a run that did not end with exit code 0 (Ploinky contract, §3); undefined when it did. */
export function failureMessage(
  outcome: Outcome,
  limits: { timeoutMs: number; maxOutputBytes: number },
): string | undefined {
  if (outcome.type === 'failed') return outcome.failure.message;
  if (outcome.type === 'lost') return 'The process was lost: its helper died. Try again.';
  if (outcome.type === 'timeout') return `command timed out after ${limits.timeoutMs}ms`;
  const { exit, stdout, stderr } = outcome;
  if (exit.overflow) return `command wrote more than ${limits.maxOutputBytes} bytes of output`;
  if (exit.code === 0) return undefined;
  const told = messageInOutput(stdout);
  if (told !== undefined) return capped(told);
  const message = stderr.toString('utf8').trim() || `command exited with code ${exit.code}`;
  return wasKilled(exit) ? `${capped(message)} (${killedRemedy})` : capped(message);
}

/** From outside, or so says the shell that ran it (128 + 9): whatever ends it here is told of otherwise. */
function wasKilled({ code, signal }: Exit): boolean {
  return signal === 'SIGKILL' || code === 137;
}

const longestMessage = 4096;

function capped(message: string): string {
  return message.length <= longestMessage ? message : `${message.slice(0, longestMessage)}...`;
}

/** `{ok: false}` or a textual `error` on stdout tell what went wrong. */
function messageInOutput(stdout: Buffer): string | undefined {
  if (stdout.length > 1024 * 1024) return undefined;
  try {
    const value = JSON.parse(stdout.toString('utf8')) as Record<string, unknown> | null;
    if (value === null || typeof value !== 'object') return undefined;
    const error = typeof value['error'] === 'string' ? value['error'] : undefined;
    const message = typeof value['message'] === 'string' ? value['message'] : undefined;
    if (value['ok'] !== false && error === undefined) return undefined;
    return error !== undefined && message !== undefined ? `${error}: ${message}` : (error ?? message);
  } catch {
    return undefined;
  }
}
