import type { Result } from '#mcp/results.ts';
import type { InvocationClaims } from '#wire/claims.ts';
import type { TaskRecord, TaskStatus } from '../queue/queue.ts';

/**
 * The one way to durable executions of an agent's tools, whichever way they are asked for: an `async` tool of the
 * Ploinky contract, MCP Tasks, or a Task resource. Ids are those of the queue (16 hex digits); what MCP clients are
 * told in their place is minted by its face (`names.ts`).
 */
export interface TaskService {
  /**
   * Resolves when the task is on disk; from then on exactly one outcome is recorded for it. The same `key`, the same
   * task: its present state, whatever else the order says. Rejects with RpcError `invalidParams` for a tool that is
   * not there and for input that it does not take, `QueueFull`, and StoreError when it cannot be made durable.
   */
  submit(order: TaskOrder): Promise<TaskRecord>;
  get(id: string): Promise<TaskRecord | undefined>;
  /**
   * `cancelled`: it will never run (again); `cancelling`: it runs, and its processes are being ended; `finished`: too
   * late; `unknown`: no such task.
   */
  cancel(id: string): Promise<'cancelled' | 'cancelling' | 'finished' | 'unknown'>;
  /** Answers to what a task asks; others are ignored. The task as it is then; undefined: no such task. */
  answer(id: string, responses: Readonly<Record<string, Result>>): Promise<TaskRecord | undefined>;
  /** In order of submission. */
  list(filter?: TaskFilter): Promise<TaskRecord[]>;
  counts(): Promise<TaskCounts>;
  /** Tells that a task is in another state, or says something else of its progress. Returns the stop function. */
  onChange(listener: (change: TaskChange) => void): () => void;
}

export interface TaskOrder {
  /** Idempotency key; a Task resource's is `<uid>/<attempt>`. Default: none, every order is a task of its own. */
  readonly key?: string;
  readonly tool: string;
  readonly input: Record<string, unknown>;
  /** Whose it is: see `ownerOf`. Tasks of the controller's own: `controller`. */
  readonly owner: string;
  /** low, normal, high, critical. Default 1. */
  readonly priority?: 0 | 1 | 2 | 3;
  /** Milliseconds from the start of an attempt. Default: as the tool says. */
  readonly timeoutMs?: number;
  /** How often an attempt that was lost with its process is run again. Default: as the tool says. */
  readonly retries?: number;
  /** Milliseconds for which it is remembered after its end, at least. Default: as the settings say. */
  readonly ttlMs?: number;
  /** Who asked, for the tool. Without its token. */
  readonly claims?: InvocationClaims | undefined;
  /** Session of the client that asked, for the tool and for notifications. */
  readonly session?: string | undefined;
  /** Answers that the client gave before the call became a task, and what the tool saved when it asked. */
  readonly inputResponses?: unknown;
  readonly requestState?: unknown;
}

export interface TaskFilter {
  readonly status?: TaskStatus;
  readonly owner?: string;
  readonly limit?: number;
}

export interface TaskCounts {
  readonly pending: number;
  readonly running: number;
  readonly inputRequired: number;
  /** By outcome, since the queue was opened. */
  readonly finished: { readonly completed: number; readonly failed: number; readonly cancelled: number };
}

export interface TaskChange {
  readonly id: string;
  /** Undefined for a task without one. */
  readonly key: string | undefined;
  readonly status: TaskStatus;
}
