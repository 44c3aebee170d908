import type { Agent } from '#api/agent.ts';
import type { AcceptedReason } from '#api/reasons.ts';
import type { Task } from '#api/task.ts';
import type { TaskLine } from '#wire/task-line.ts';
import type { TaskDependencies } from './dependencies.ts';
import type { Choice } from './pick.ts';
import type { Effect } from './step.ts';

/** Everything that a decision about one Task may depend on, gathered before it. Plain data. */
export interface TaskFacts {
  readonly task: Task;
  readonly refusals: readonly Refusal[];
  readonly dependencies: TaskDependencies;
  /** Who would do it now. With `isolation: Pod`: whose spec its own Agent gets. */
  readonly choice: Choice;
  /** Of the present attempt; undefined while no instance has one. */
  readonly attempt: AttemptFacts | undefined;
  /** Agents that were made for its attempts. */
  readonly own: readonly Agent[];
  /** Keys of attempts of this Task, other than the present one, that still go on at instances. */
  readonly strays: readonly string[];
  /** A schedule made it and has not noted that yet: it must not go before. */
  readonly unnoted: boolean;
  /** Tasks depend on it that have not ended: they look at how it ended. */
  readonly needed: boolean;
  /** Who claims, as status.claimedBy has it. */
  readonly identity: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

export interface Refusal {
  readonly reason: AcceptedReason;
  readonly message: string;
}

export interface AttemptFacts {
  /** What was told of it last. */
  readonly line: TaskLine | undefined;
  /** Instance that told it; another one than status.instance when that took its queue over. */
  readonly holder: string | undefined;
  /** What the last question came to, when it was no line. */
  readonly trouble: Trouble | undefined;
  /** How to ask of it; undefined: nobody can be asked now. */
  readonly ask: (Effect & { readonly type: 'ask' }) | undefined;
  /** The last instance that it was offered to took no more. */
  readonly noRoom: boolean;
  /** Nobody has it any more. */
  readonly isLost: boolean;
}

export interface Trouble {
  readonly kind: 'refused' | 'busy' | 'unreachable' | 'absent';
  readonly message: string;
  /** How often in a row. */
  readonly failures: number;
  /** Milliseconds since the epoch: not asked again before. */
  readonly until: number;
}
