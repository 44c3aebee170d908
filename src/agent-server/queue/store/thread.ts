import type { MessagePort } from 'node:worker_threads';
import { codeOf, messageOf } from '#kit/errors.ts';
import type { Answer, Operation, StoredChange, StoredCounts, StoreLimits } from './operations.ts';
import { type OpeningNote, TaskStore } from './store.ts';

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
  | { readonly type: 'opened'; readonly notes: readonly OpeningNote[]; readonly counts: StoredCounts }
  | { readonly type: 'refused'; readonly failure: Failure }
  | {
      readonly type: 'answers';
      /** Undefined where the operation failed, as `failure` says. */
      readonly answers: readonly (Answer | undefined)[];
      readonly failure?: Failure;
      readonly changes: readonly StoredChange[];
      readonly counts: StoredCounts;
    }
  | { readonly type: 'closed' };

export interface ThreadData {
  readonly folder: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Each default as the store has it. */
  readonly limits?: StoreLimits;
  readonly held?: readonly string[];
  readonly imports?: readonly string[];
}

/** The store's thread: opens the folder, says so or why not, and carries out what it is told until it is closed. */
export function serveStore(port: MessagePort, { folder, now, ...options }: ThreadData): void {
  const say = (message: FromThread) => port.postMessage(message);
  let store: TaskStore;
  try {
    store = new TaskStore(folder, now, options);
  } catch (error) {
    say({ type: 'refused', failure: toFailure(error) });
    port.close();
    return;
  }
  port.on('message', (message: ToThread) => {
    if (message.type === 'apply') return say(carryOut(store, message.operations));
    store.close();
    say({ type: 'closed' });
    port.close();
  });
  say({ type: 'opened', notes: store.notes, counts: store.counts });
}

/** A batch that cannot be written is refused as a whole; what it only reads is read. */
function carryOut(store: TaskStore, operations: readonly Operation[]): FromThread {
  try {
    return answersOf(store, store.apply(operations));
  } catch (error) {
    const answers = operations.map((operation) =>
      readsOnly(operation) ? read(store, operation) : undefined,
    );
    return { ...answersOf(store, answers), failure: toFailure(error) };
  }
}

function answersOf(store: TaskStore, answers: readonly (Answer | undefined)[]) {
  return { type: 'answers', answers, changes: store.takeChanges(), counts: store.counts } as const;
}

function read(store: TaskStore, operation: Operation): Answer | undefined {
  try {
    return store.apply([operation])[0];
  } catch {
    return undefined;
  }
}

function readsOnly({ type }: Operation): boolean {
  return type === 'get' || type === 'getByKey' || type === 'list' || type === 'unanswered';
}

function toFailure(error: unknown): Failure {
  const remedy = typeof error === 'object' && error !== null && 'remedy' in error ? error.remedy : undefined;
  return {
    code: codeOf(error) ?? 'QueueUnavailable',
    message: messageOf(error),
    remedy: typeof remedy === 'string' ? remedy : undefined,
  };
}
