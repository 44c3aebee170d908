import type { MessagePort } from 'node:worker_threads';
import { codeOf, messageOf } from '#kit/errors.ts';
import type { Answer, Operation } from './operations.ts';
import { TaskStore } from './store.ts';

/** What the thread is told. Batches are answered in their order. */
export type ToThread =
  | { readonly type: 'apply'; readonly operations: readonly Operation[] }
  | { readonly type: 'close' };

export interface Failure {
  readonly code: string;
  readonly message: string;
  readonly remedy: string | undefined;
}

export type FromThread =
  | { readonly type: 'opened' }
  | { readonly type: 'refused'; readonly failure: Failure }
  | { readonly type: 'answers'; readonly answers: readonly Answer[] }
  | { readonly type: 'failed'; readonly failure: Failure }
  | { readonly type: 'closed' };

export interface ThreadData {
  readonly folder: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** The store's thread: opens the folder, says so or why not, and carries out what it is told until it is closed. */
export function serveStore(port: MessagePort, { folder, now }: ThreadData): void {
  const say = (message: FromThread) => port.postMessage(message);
  let store: TaskStore;
  try {
    store = new TaskStore(folder, now);
  } catch (error) {
    say({ type: 'refused', failure: toFailure(error) });
    port.close();
    return;
  }
  port.on('message', (message: ToThread) => {
    if (message.type === 'close') {
      store.close();
      say({ type: 'closed' });
      port.close();
      return;
    }
    try {
      say({ type: 'answers', answers: store.apply(message.operations) });
    } catch (error) {
      say({ type: 'failed', failure: toFailure(error) });
    }
  });
  say({ type: 'opened' });
}

function toFailure(error: unknown): Failure {
  const remedy = typeof error === 'object' && error !== null && 'remedy' in error ? error.remedy : undefined;
  return {
    code: codeOf(error) ?? 'QueueUnavailable',
    message: messageOf(error),
    remedy: typeof remedy === 'string' ? remedy : undefined,
  };
}
