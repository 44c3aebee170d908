import { isObject } from '#kit/json.ts';

/** What an agent-server says of a task that has a key: in the answer to `POST /tasks`, and as a line of `GET /changes`. */
export interface TaskLine {
  readonly type: 'task';
  /** `<uid of the Task>/<attempt>`. */
  readonly key: string;
  /** By which the agent-server knows it. */
  readonly id: string;
  readonly status: TaskLineStatus;
  /** Why it has no good end: Failed, TimedOut, Interrupted, Cancelled; else empty. */
  readonly reason: string;
  /** The end in one line, else empty. */
  readonly message: string;
  readonly exitCode: number | null;
  /** RFC 3339. */
  readonly startedAt: string | null;
  readonly finishedAt: string | null;
  /** The tool's result; absent when there is none, or it is larger than `largestResult`. */
  readonly result?: Record<string, unknown>;
  /** Bytes of the result as JSON; 0: there is none. */
  readonly resultBytes: number;
  /** URI of the blob that has it, where it is larger than `largestResult`. */
  readonly blob?: string;
  /** Whether the result says itself that the tool failed. */
  readonly isError: boolean;
}

const statuses = ['pending', 'running', 'input_required', 'completed', 'failed', 'cancelled'] as const;
export type TaskLineStatus = (typeof statuses)[number];

/** Bytes of JSON. */
export const largestResult = 65_536;
const longestMessage = 4096;

/** True when nothing more will happen to it. */
export function isEnded({ status }: Pick<TaskLine, 'status'>): boolean {
  return status === 'completed' || status === 'failed' || status === 'cancelled';
}

/** What a line says; undefined for one that says nothing usable. Other members are left out. */
export function readTaskLine(value: unknown): TaskLine | undefined {
  if (!isObject(value)) return undefined;
  const { key, id, status, result } = value;
  const known = statuses.find((name) => name === status);
  if (known === undefined || typeof key !== 'string' || typeof id !== 'string') return undefined;
  return {
    type: 'task',
    key,
    id,
    status: known,
    reason: textOf(value['reason']) ?? '',
    message: (textOf(value['message']) ?? '').slice(0, longestMessage),
    exitCode: numberOf(value['exitCode']) ?? null,
    startedAt: textOf(value['startedAt']) ?? null,
    finishedAt: textOf(value['finishedAt']) ?? null,
    ...(isObject(result) && { result }),
    resultBytes: numberOf(value['resultBytes']) ?? 0,
    ...blobOf(value['blob']),
    isError: value['isError'] === true,
  };
}

function blobOf(value: unknown): Pick<TaskLine, 'blob'> {
  return typeof value === 'string' && value !== '' && value.length <= 1024 ? { blob: value } : {};
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}
