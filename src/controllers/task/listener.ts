import type { ExecutionLine } from '#wire/execution-line.ts';
import type { AgentIdentity, WireKey } from '#wire/keys.ts';
import type { TaskLine } from '#wire/task-line.ts';

/** An agent-server that is listened to. */
export interface TaskPlace {
  readonly agent: AgentIdentity;
  /** uid of the workload. */
  readonly instance: string;
  readonly address: string;
  /** The agent's keys, the current one first. */
  readonly keys: readonly WireKey[];
}

/** Who wants to know what agent-servers say of tasks on their change streams. */
export interface TaskListener {
  /** A stream began. What became of tasks there while there was none is not told: it has to be asked for. */
  opened(place: TaskPlace): void;
  told(place: TaskPlace, line: TaskLine): void;
  /** A client began a task there that no Task stands for. */
  began(place: TaskPlace, line: ExecutionLine): void;
  /** Nobody listens there any more. */
  closed(place: TaskPlace): void;
}
