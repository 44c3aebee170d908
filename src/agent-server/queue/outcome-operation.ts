import type { Outcome } from './queue.ts';
import type { Operation } from './store/operations.ts';
import { jsonOrNull } from './task-record.ts';

/** What the holder of a task may tell the store. */
export type HolderOperation = Extract<Operation, { type: 'settle' | 'ask' | 'release' | 'interrupt' }>;

/** What a holder says, before the queue adds what it knows itself. */
export type Said<O = HolderOperation> = O extends HolderOperation
  ? Omit<O, 'id' | 'attempt' | 'log' | 'progress' | 'now'>
  : never;

const none = {
  type: 'settle',
  reason: null,
  error: null,
  exitCode: null,
  rpcError: null,
  result: null,
} as const;

/** How an outcome is recorded. `isCancelled`: the holder was told to end the task. */
export function toOperation(outcome: Outcome, isCancelled: boolean): Said {
  switch (outcome.status) {
    case 'cancelled':
      return { ...none, status: 'cancelled', reason: 'Cancelled' };
    case 'completed':
      return {
        ...none,
        status: 'completed',
        exitCode: outcome.exitCode ?? null,
        result: JSON.stringify(outcome.result),
      };
    case 'failed':
      return {
        ...none,
        status: 'failed',
        reason: outcome.reason ?? 'Failed',
        error: outcome.error,
        exitCode: outcome.exitCode ?? null,
        rpcError: jsonOrNull(outcome.rpcError),
        result: jsonOrNull(outcome.result),
      };
    case 'input_required':
      if (isCancelled) return { ...none, status: 'cancelled', reason: 'Cancelled' };
      if (Object.keys(outcome.requests).length === 0)
        return {
          ...none,
          status: 'failed',
          reason: 'Failed',
          error: 'The tool asks for input, but no question',
        };
      return { type: 'ask', requests: JSON.stringify(outcome.requests), state: outcome.state };
  }
}
