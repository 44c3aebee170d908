import type { Worker } from 'node:worker_threads';
import type { Answers, Operation } from './operations.ts';
import { StoreError, type StoreErrorCode } from './store-error.ts';
import type { Failure, FromThread, ToThread } from './thread.ts';

/** The store as the agent-server's own thread sees it. */
export interface StoreClient {
  /** Resolves when it was carried out and is on disk. Rejects with StoreError, and then nothing of it was kept. */
  ask<O extends Operation>(operation: O): Promise<Answers[O['type']]>;
  /** Waits for what was asked before. */
  close(): Promise<void>;
}

interface Asked {
  readonly operation: Operation;
  readonly resolve: (answer: never) => void;
  readonly reject: (error: Error) => void;
}

/** Operations of one transaction: a batch that is larger makes those in it wait longer than it spares the others. */
const largestBatch = 256;

/**
 * Group commit: what is asked while a transaction is being written goes into the next one, so that hundreds share
 * one flush of the disk and a single one waits for nobody. Resolves once the store is open; rejects with StoreError.
 */
export function openStore(worker: Worker): Promise<StoreClient> {
  const { promise: opened, resolve: open, reject: refuse } = Promise.withResolvers<StoreClient>();
  const closed = Promise.withResolvers<void>();
  let waiting: Asked[] = [];
  let flying: Asked[] | undefined;
  let failure: Error | undefined;
  let isClosing = false;

  function send(message: ToThread): void {
    worker.postMessage(message);
  }
  function fly(): void {
    if (flying !== undefined) return;
    if (waiting.length === 0) {
      if (isClosing) send({ type: 'close' });
      return;
    }
    flying = waiting.slice(0, largestBatch);
    waiting = waiting.slice(largestBatch);
    send({ type: 'apply', operations: flying.map(({ operation }) => operation) });
  }
  function land(settle: (asked: Asked, index: number) => void): void {
    const landed = flying ?? [];
    flying = undefined;
    landed.forEach(settle);
    fly();
  }
  function fail(error: Error): void {
    failure ??= error;
    refuse(failure);
    for (const asked of [...(flying ?? []), ...waiting]) asked.reject(failure);
    flying = undefined;
    waiting = [];
    closed.resolve();
  }
  const client: StoreClient = {
    ask: (operation) =>
      new Promise((resolve, reject) => {
        if (failure !== undefined) return reject(failure);
        if (isClosing) return reject(new StoreError('QueueUnavailable', 'the agent-server stops'));
        waiting.push({ operation, resolve, reject });
        // Whoever asks in the same turn shares the transaction.
        if (waiting.length === 1 && flying === undefined) queueMicrotask(fly);
      }),
    close() {
      if (!isClosing) {
        isClosing = true;
        if (waiting.length === 0) fly();
      }
      return closed.promise;
    },
  };
  worker.on('message', (message: FromThread) => {
    if (message.type === 'opened') open(client);
    else if (message.type === 'refused') fail(errorOf(message.failure));
    else if (message.type === 'closed') closed.resolve();
    else if (message.type === 'failed') land(({ reject }) => reject(errorOf(message.failure)));
    else land(({ resolve }, index) => resolve(message.answers[index] as never));
  });
  worker.once('error', (error) =>
    fail(new StoreError('QueueUnavailable', `the queue ended: ${error.message}`)),
  );
  worker.once('exit', () => fail(new StoreError('QueueUnavailable', 'the queue ended')));
  return opened;
}

function errorOf({ code, message, remedy }: Failure): StoreError {
  return new StoreError(code as StoreErrorCode, message, remedy === undefined ? {} : { remedy });
}
