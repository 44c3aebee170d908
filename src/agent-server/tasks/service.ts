import type { Result } from '#mcp/results.ts';
import type { InvocationClaims } from '#wire/claims.ts';
import type { TaskChange, TaskCounts, TaskFilter, TaskPriority, TaskRecord } from '../queue/queue.ts';
import type { CallContext } from '../source.ts';

/**
 * The one way to durable executions of an agent's tools, whichever way they are asked for: an `async` tool of the
 * Ploinky contract, MCP Tasks, or a Task resource. Ids are those of the queue (16 hex digits); what MCP clients are
 * told in their place is minted by its face.
 */
export interface TaskService {
  /**
   * Resolves when the task is on disk; from then on exactly one outcome is recorded for it. The same `key`, the same
   * task: its present state, whatever else the order says. Rejects with RpcError `invalidParams` for a tool that is
   * not there and for input that it does not take, `QueueFull`, and StoreError when it cannot be made durable.
   */
  submit(order: TaskOrder): Promise<TaskRecord>;
  get(id: string): Promise<TaskRecord | undefined>;
  getByKey(key: string): Promise<TaskRecord | undefined>;
  /** Gives a task without a key this one: see the queue's. */
  adopt(id: string, key: string): Promise<TaskRecord | undefined>;
  /**
   * `cancelled`: it will never run (again); `cancelling`: it runs, and its processes are being ended; `finished`: too
   * late; `unknown`: no such task.
   */
  cancel(id: string): Promise<'cancelled' | 'cancelling' | 'finished' | 'unknown'>;
  /** Answers to what a task asks, by the keys of its `inputRequests`; others are ignored. Undefined: no such task. */
  answer(id: string, responses: Readonly<Record<string, Result>>): Promise<TaskRecord | undefined>;
  /** In order of submission, without what may be long: see the queue's `list`. */
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
  readonly priority?: TaskPriority;
  /** Milliseconds from the start of an attempt. Default: as the tool says. */
  readonly timeoutMs?: number;
  /** How often an attempt that was lost with its process is run again. Default: as the tool says. */
  readonly retries?: number;
  /** Milliseconds after its end for which it is remembered at most. Default: as long as there is room. */
  readonly ttlMs?: number;
  /** Who asked, for the tool; without the token. */
  readonly claims?: InvocationClaims | undefined;
  /** Session of the client that asked, for the tool. */
  readonly session?: string | undefined;
  readonly requestId?: string | number;
  /** What its client can be asked. Default: nothing; a tool that asks then fails. */
  readonly capabilities?: CallContext['capabilities'];
  /** What the client answered before the call became a task, and what the tool saved when it asked. */
  readonly inputResponses?: unknown;
  readonly requestState?: unknown;
  /**
   * How whoever asked is told of the task: by an id of MCP, which is good for its owner alone and has the queue's in it,
   * or as the contract does, by that one, which is then the right to look. Default: by neither.
   */
  readonly told?: 'mcp' | 'contract';
}
