import type { MessagePort } from 'node:worker_threads';
import { codeOf, messageOf } from '#kit/errors.ts';
import { answerLength, longestBatch } from './batch.ts';
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
      /** Undefined where the operation failed; of as many as were carried out: the rest is to be asked again. */
      readonly answers: readonly (Answer | undefined)[];
      /** Why single operations failed, by their index. */
      readonly refused?: Readonly<Record<number, Failure>>;
      /** Why all the others without an answer did. */
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
  readonly lost?: readonly Operation[];
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
    return { ...answersOf(store, readAll(store, operations)), failure: toFailure(error) };
  }
}

type Outcome = Answer | Error | undefined;

function answersOf(store: TaskStore, outcomes: readonly Outcome[]) {
  const refused: Record<number, Failure> = {};
  const answers = outcomes.map((outcome, index) => {
    if (!(outcome instanceof Error)) return outcome;
    refused[index] = toFailure(outcome);
    return undefined;
  });
  return { type: 'answers', answers, refused, changes: store.takeChanges(), counts: store.counts } as const;
}

function readAll(store: TaskStore, operations: readonly Operation[]): Outcome[] {
  const outcomes: Outcome[] = [];
  let length = 0;
  for (const operation of operations) {
    if (length > longestBatch) break;
    const outcome = readsOnly(operation) ? read(store, operation) : undefined;
    length += answerLength(outcome);
    outcomes.push(outcome);
  }
  return outcomes;
}

function read(store: TaskStore, operation: Operation): Outcome {
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
