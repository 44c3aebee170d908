import type { Agent } from '#api/agent.ts';
import type { ObjectMeta } from '#api/meta.ts';
import type { Task, TaskStatus } from '#api/task.ts';

/** What an operator would want to read; becomes a Kubernetes Event. */
export interface Notice {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** Of what goes on at the instance that has the present attempt. */
export type Effect =
  /** Gives the attempt to the instance, or asks how far it is: with its key that is the same. */
  | { readonly type: 'ask'; readonly instance: string; readonly known: boolean }
  /** Ends attempts there, by their keys. */
  | { readonly type: 'end'; readonly keys: readonly string[] };

/** What is done about a Task now, in this order. */
export interface Step<Status = TaskStatus> {
  /** Made before the status says so; one of the same name that is there already is that one. */
  readonly create?: readonly (Task | Agent)[];
  /** The whole status; undefined: it stays as it is. */
  readonly status?: Status;
  /** Told once the status is written, and only when it changed. */
  readonly notices?: readonly Notice[];
  readonly effects?: readonly Effect[];
  /** Tasks that a schedule made and nobody needs any more. They go before the status says so. */
  readonly remove?: readonly ObjectMeta[];
  /** Agents of attempts that have ended. */
  readonly removeAgents?: readonly ObjectMeta[] | undefined;
  /** True: the Task itself goes. */
  readonly removeItself?: boolean;
  /** Milliseconds until it is looked at again; undefined: when something changes. */
  readonly waitMs?: number;
}
