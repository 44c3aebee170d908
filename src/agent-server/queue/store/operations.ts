/** What the queue asks of its store. Plain data: it crosses to another thread. Times are milliseconds since the epoch. */
export type Operation =
  | AddOperation
  | BeginOperation
  /** Of the tools in `except` none. */
  | { readonly type: 'lease'; readonly except: readonly string[]; readonly now: number }
  | SettleOperation
  | AskOperation
  | (Held & { readonly type: 'release' })
  /** `error`: what the task is told when it is not run again. */
  | (Held & { readonly type: 'interrupt'; readonly error: string })
  /** JSON text: answers by key. */
  | { readonly type: 'answer'; readonly id: string; readonly responses: string; readonly now: number }
  | { readonly type: 'cancel'; readonly id: string; readonly now: number }
  | { readonly type: 'get'; readonly id: string }
  | { readonly type: 'getByKey'; readonly key: string }
  /** Gives a task without a key this one, by which it is told of from now on. */
  | { readonly type: 'adopt'; readonly id: string; readonly key: string }
  | ListOperation
  /** Those that ask and have not been changed since. */
  | { readonly type: 'unanswered'; readonly before: number }
  /** Forgets what is over its time. */
  | { readonly type: 'sweep'; readonly now: number };

export interface NewStoredTask {
  readonly id: string;
  readonly key: string | null;
  readonly owner: string | null;
  readonly tool: string;
  /** JSON text. */
  readonly payload: string;
  readonly priority: number;
  readonly timeoutMs: number | null;
  readonly ttlMs: number | null;
  /** Attempts that may be lost with their process before the task fails. */
  readonly retries: number;
  readonly now: number;
}

export type AddOperation = NewStoredTask & { readonly type: 'add' };
/** Runs already. */
export type BeginOperation = NewStoredTask & { readonly type: 'begin'; readonly startedAt: number };

/** Of the holder of a task: carried out only while the attempt is the current one. */
interface Held {
  readonly id: string;
  readonly attempt: number;
  readonly log: StoredLog;
  /** JSON text. */
  readonly progress: string | null;
  readonly now: number;
}

export interface SettleOperation extends Held {
  readonly type: 'settle';
  readonly status: FinalStatus;
  readonly reason: string | null;
  readonly error: string | null;
  readonly exitCode: number | null;
  /** JSON text. */
  readonly rpcError: string | null;
  /** JSON text. */
  readonly result: string | null;
}

export interface AskOperation extends Held {
  readonly type: 'ask';
  /** JSON text: requests by key. */
  readonly requests: string;
  readonly state: string | null;
}

export interface ListOperation {
  readonly type: 'list';
  readonly status: StoredStatus | null;
  readonly owner: string | null;
  /** Id of a task: those that were added later. */
  readonly after: string | null;
  readonly limit: number;
}

export type FinalStatus = 'completed' | 'failed' | 'cancelled';
export type StoredStatus = 'pending' | 'running' | 'input_required' | FinalStatus;

export interface StoredLog {
  readonly tail: string;
  readonly sequence: number;
  readonly truncated: boolean;
}

/** Texts that are JSON are as they were given. */
export interface StoredTask {
  readonly id: string;
  readonly key: string | null;
  readonly owner: string | null;
  readonly tool: string;
  readonly payload: string;
  readonly priority: number;
  readonly status: StoredStatus;
  readonly timeoutMs: number | null;
  readonly ttlMs: number | null;
  readonly attempt: number;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly startedAt: number | null;
  readonly finishedAt: number | null;
  readonly progress: string | null;
  readonly inputRequests: string | null;
  readonly inputResponses: string | null;
  readonly requestState: string | null;
  readonly reason: string | null;
  readonly error: string | null;
  readonly rpcError: string | null;
  readonly exitCode: number | null;
  readonly result: string | null;
  readonly log: StoredLog;
}

/** A task that is in another status now. */
export interface StoredChange {
  readonly id: string;
  readonly key: string | null;
  readonly owner: string | null;
  readonly tool: string;
  readonly status: StoredStatus;
  readonly attempt: number;
  readonly createdAt: number;
  readonly startedAt: number | null;
  readonly finishedAt: number | null;
  readonly reason: string | null;
  readonly progress: string | null;
}

/** Answers, by the type of the operation. */
export interface Answers {
  /** `full`: too many wait. A task: the one that has the key already. */
  readonly add: StoredTask | 'added' | 'full';
  readonly begin: true;
  readonly lease: StoredTask | null;
  /** False: another attempt, or another end, is what counts. */
  readonly settle: boolean;
  readonly ask: boolean;
  readonly release: boolean;
  readonly interrupt: boolean;
  readonly answer: 'answered' | 'partial' | 'ignored' | 'unknown';
  readonly cancel: 'cancelled' | 'cancelling' | 'finished' | 'unknown';
  readonly get: StoredTask | null;
  readonly getByKey: StoredTask | null;
  /** Null: there is none of this id, or it has another key. */
  readonly adopt: StoredTask | null;
  /** Without results, questions and logs, and of payloads only `instance`. */
  readonly list: readonly StoredTask[];
  /** Ids, the oldest question first. */
  readonly unanswered: readonly string[];
  readonly sweep: true;
}

export type Answer = Answers[Operation['type']];

/** Tasks by what they count as. */
export interface StoredCounts {
  readonly pending: number;
  readonly running: number;
  readonly input_required: number;
  readonly completed: number;
  readonly failed: number;
  readonly cancelled: number;
}

/** What the store holds at most. */
export interface StoreLimits {
  /** Tasks that wait to be run; one more is refused. */
  readonly maxPending: number;
  /** Bytes of their payloads. */
  readonly maxPendingBytes: number;
  /** Tasks that wait for answers; the oldest fails when there are more. */
  readonly maxAsking: number;
  /**
   * Finished tasks that are remembered: without a key, of those whose time to live nobody said; with one, as many
   * again. Of all without a key, in their grace and their time to live too, twenty times as many.
   */
  readonly maxFinished: number;
  /** Milliseconds after its end in which none is forgotten by number: its client has yet to ask for it. */
  readonly graceMs: number;
  /** Bytes of finished tasks: payloads, results and logs. */
  readonly maxFinishedBytes: number;
  /** Milliseconds for which finished tasks are remembered. */
  readonly retentionMs: number;
}

/**
 * Milliseconds in which a finished task with a key is not forgotten to make room for another one: whoever chose the key
 * asks again. Its result and its arguments may be.
 */
export const keyedMs = 86_400_000;

const hour = 3_600_000;
export const defaultLimits: StoreLimits = {
  maxPending: 10_000,
  maxPendingBytes: 256 * 1024 * 1024,
  maxAsking: 1000,
  maxFinished: 1000,
  graceMs: 300_000,
  maxFinishedBytes: 256 * 1024 * 1024,
  retentionMs: 7 * 24 * hour,
};
