import { join } from 'node:path';
import { cpuMicros } from '../harness/machine.ts';
import type { Scope } from '../harness/scope.ts';
import type { FromLoad, LoadOutcome, LoadRun, LoadTarget, ToLoad } from './order.ts';

/** An opened target: its connections (and sessions) stay from run to run. */
export interface OpenTarget {
  run(order: LoadRun): Promise<LoadOutcome>;
}

/** The load program of one bench. */
export interface Load {
  /** Connects. Rejects when a connection or session is refused. */
  open(target: LoadTarget): Promise<OpenTarget>;
}

export function startLoad(scope: Scope): Load {
  const program = scope.start(join(import.meta.dirname, 'main.ts'), [], { side: 'load', ipc: true });
  const waiting = new Map<number, { resolve(outcome: LoadOutcome | null): void; reject(e: Error): void }>();
  let serial = 0;
  program.process.on('message', (message) => {
    const answer = message as FromLoad;
    const pending = waiting.get(answer.id);
    waiting.delete(answer.id);
    if ('error' in answer) pending?.reject(new Error(answer.error));
    else pending?.resolve(answer.outcome);
  });
  program.process.once('exit', () => {
    for (const pending of waiting.values()) pending.reject(new Error('the load program ended'));
  });
  const tell = (make: (id: number) => ToLoad) =>
    new Promise<LoadOutcome | null>((resolve, reject) => {
      const order = make(++serial);
      waiting.set(order.id, { resolve, reject });
      program.process.send(order);
    });
  return {
    async open(target) {
      let opened = 0;
      await tell((id) => {
        opened = id;
        return { type: 'open', id, target };
      });
      return {
        async run(run) {
          const outcome = await tell((id) => ({ type: 'run', id, target: opened, run }));
          if (outcome === null) throw new Error('no outcome');
          return outcome;
        },
      };
    },
  };
}

/** A run, and the CPU that some processes used meanwhile, in microseconds a call; NaN without /proc. */
export async function runMeasured(
  target: OpenTarget,
  order: LoadRun,
  pids: readonly number[],
): Promise<LoadOutcome & { readonly micros: number }> {
  const sum = () => pids.reduce((total, pid) => total + (cpuMicros(pid) ?? Number.NaN), 0);
  const before = sum();
  const outcome = await target.run(order);
  return { ...outcome, micros: (sum() - before) / outcome.calls };
}
