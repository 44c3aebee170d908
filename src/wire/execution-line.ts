import { isObject } from '#kit/json.ts';

/**
 * A line of `GET /changes`: a task that a client of the agent began and that has no key yet. Told once when it begins
 * and again on each new stream, until the controller has given it a key (`adopt` of an order); only where the
 * configuration asks for it.
 */
export interface ExecutionLine {
  readonly type: 'execution';
  /** 16 hex digits. */
  readonly id: string;
  readonly tool: string;
  /** Absent when it is larger than `largestTold`. */
  readonly input?: Record<string, unknown>;
  /** RFC 3339; null: it has not ended. */
  readonly finishedAt: string | null;
}

/** Bytes of the arguments as JSON. */
export const largestTold = 65_536;
const longestTool = 255;

/** What a line says; undefined for one that says nothing usable. */
export function readExecutionLine(value: Readonly<Record<string, unknown>>): ExecutionLine | undefined {
  const { id, tool, input, finishedAt } = value;
  if (typeof id !== 'string' || !/^[0-9a-f]{16}$/.test(id)) return undefined;
  if (typeof tool !== 'string' || tool === '' || tool.length > longestTool) return undefined;
  return {
    type: 'execution',
    id,
    tool,
    ...(isObject(input) && { input }),
    finishedAt: typeof finishedAt === 'string' ? finishedAt : null,
  };
}
