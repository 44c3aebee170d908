import { join } from 'node:path';
import type { Scope } from '../harness/scope.ts';
import type { WriterName } from './writers/writer.ts';

export type WriterOrder =
  | { readonly open: string }
  | { readonly add: number; readonly to: string; readonly producers: number }
  | { readonly close: string };

export type WriterAnswer = { readonly outcome: AddOutcome | null } | { readonly error: string };

export interface AddOutcome {
  readonly tasks: number;
  readonly seconds: number;
  readonly perSecond: number;
  /** Milliseconds from the request until the task was on disk. */
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
  /** CPU of all threads, in microseconds a task. */
  readonly micros: number;
}

/** A process that adds tasks in one way; see programs/writer.ts. One order at a time. */
export interface WriterProcess {
  open(folder: string): Promise<void>;
  add(folder: string, tasks: number, producers: number): Promise<AddOutcome>;
  close(folder: string): Promise<void>;
  stop(): Promise<void>;
}

export function startWriter(scope: Scope, name: WriterName, peers = ''): WriterProcess {
  const script = join(import.meta.dirname, 'programs/writer.ts');
  const program = scope.start(script, [name, peers], { ipc: true });
  const tell = (order: WriterOrder) =>
    new Promise<AddOutcome | null>((resolve, reject) => {
      const onExit = () => reject(new Error(`the writer "${name}" ended`));
      program.process.once('exit', onExit);
      program.process.once('message', (message) => {
        program.process.off('exit', onExit);
        const answer = message as WriterAnswer;
        if ('error' in answer) reject(new Error(`${name}: ${answer.error}`));
        else resolve(answer.outcome);
      });
      program.process.send(order);
    });
  return {
    open: async (folder) => void (await tell({ open: folder })),
    async add(folder, tasks, producers) {
      const outcome = await tell({ add: tasks, to: folder, producers });
      if (outcome === null) throw new Error('no outcome');
      return outcome;
    },
    close: async (folder) => void (await tell({ close: folder })),
    stop: () => program.stop(),
  };
}
