/** What the queue asks of its store. Plain data: it crosses to another thread. Times are milliseconds since the epoch. */
export type Operation =
  | {
      readonly type: 'add';
      readonly id: string;
      readonly key: string | null;
      readonly tool: string;
      /** JSON text. */
      readonly payload: string;
      readonly priority: number;
      readonly timeoutMs: number | null;
      /** Attempts that may be lost with their process before the task fails. */
      readonly maxAttempts: number;
      readonly maxPending: number;
      readonly now: number;
    }
  | { readonly type: 'lease'; readonly now: number }
  | {
      readonly type: 'settle';
      readonly id: string;
      readonly attempt: number;
      readonly status: FinalStatus;
      readonly error: string | null;
      /** JSON text. */
      readonly result: string | null;
      readonly log: StoredLog;
      readonly maxFinished: number;
      readonly now: number;
    }
  | { readonly type: 'release'; readonly id: string; readonly attempt: number; readonly now: number }
  | { readonly type: 'cancel'; readonly id: string; readonly maxFinished: number; readonly now: number }
  | { readonly type: 'get'; readonly id: string }
  | { readonly type: 'list'; readonly status: StoredStatus | null; readonly limit: number };

export type FinalStatus = 'completed' | 'failed' | 'cancelled';
export type StoredStatus = 'pending' | 'running' | FinalStatus;

export interface StoredLog {
  readonly tail: string;
  readonly sequence: number;
  readonly truncated: boolean;
}

export interface StoredTask {
  readonly id: string;
  readonly tool: string;
  readonly payload: string;
  readonly status: StoredStatus;
  readonly timeoutMs: number | null;
  readonly attempt: number;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly error: string | null;
  readonly result: string | null;
  readonly log: StoredLog;
}

/** Answers, by the type of the operation. */
export interface Answers {
  /** `full`: too many wait. */
  readonly add: StoredTask | 'full';
  readonly lease: StoredTask | null;
  /** False: another attempt, or another end, is what counts. */
  readonly settle: boolean;
  readonly release: boolean;
  readonly cancel: 'cancelled' | 'cancelling' | 'finished' | 'unknown';
  readonly get: StoredTask | null;
  readonly list: readonly StoredTask[];
}

export type Answer = Answers[Operation['type']];
