import { join } from 'node:path';
import type { Scope, StartOptions } from './scope.ts';

export interface SpawnOrder {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly concurrency: number;
  readonly ms: number;
}

export interface SpawnOutcome {
  readonly calls: number;
  readonly seconds: number;
  readonly callsPerSecond: number;
  readonly p50: number;
  readonly p99: number;
}

/** A process that spawns commands itself, without anything around it. One run at a time. */
export interface SpawnLoop {
  run(order: SpawnOrder): Promise<SpawnOutcome>;
}

export function startSpawnLoop(scope: Scope, options: StartOptions = {}): SpawnLoop {
  const script = join(import.meta.dirname, '../programs/spawn-loop.mjs');
  const program = scope.start(script, [], {
    ...options,
    nodeFlags: ['--max-semi-space-size=1', ...(options.nodeFlags ?? [])],
    ipc: true,
  });
  return {
    run: (order) =>
      new Promise((resolve, reject) => {
        const onExit = () => reject(new Error('the spawn loop ended'));
        program.process.once('exit', onExit);
        program.process.once('message', (message) => {
          program.process.off('exit', onExit);
          const answer = message as { outcome: SpawnOutcome } | { error: string };
          if ('error' in answer) reject(new Error(answer.error));
          else resolve(answer.outcome);
        });
        program.process.send(order);
      }),
  };
}

/** What a tool of the agent-server gets, so that both sides start the same thing. */
export const cleanEnvironment = { PATH: `${join(process.execPath, '..')}:/usr/local/bin:/usr/bin:/bin` };
