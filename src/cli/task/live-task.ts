import { text } from 'node:stream/consumers';
import type { Task } from '#api/task.ts';
import { messageOf } from '#kit/errors.ts';
import { isObject } from '#kit/json.ts';
import { CliError } from '../errors.ts';
import { exitCodes } from '../exit-codes.ts';
import { sendToRouter } from '../mcp-http.ts';
import { notKnown } from '../not-known.ts';
import type { Router } from '../router.ts';

/** What the agent itself says of a task that it has, while it runs and for a while after. */
export interface LiveTask {
  readonly status: string;
  /** Of a log that may be longer: its end. */
  readonly logTail: string;
  /** How many pieces it has had. */
  readonly logSeq: number;
  readonly logTruncated: boolean;
  /** `{progress, total?, message?}`. */
  readonly progress: Readonly<Record<string, unknown>> | undefined;
  /** The tool's, once it has ended. */
  readonly result: Readonly<Record<string, unknown>> | undefined;
  /** Why it failed. */
  readonly error: string | undefined;
}

export interface LiveRequest {
  readonly namespace: string;
  readonly agent: string;
  readonly taskId: string;
  readonly signal: AbortSignal;
}

const timeoutMs = 15_000;

/** Where the task of a Task's running or last attempt is. Undefined: no agent has been given it. */
export function placeOf({ metadata, status }: Task): Omit<LiveRequest, 'signal'> | undefined {
  const { agent, taskId } = status ?? {};
  if (agent === undefined || taskId === undefined) return undefined;
  return { namespace: metadata.namespace ?? 'default', agent, taskId };
}

/** Undefined: the agent is away, or does not know the task any more. Throws `notRunning` and `failed`. */
export async function readLiveTask(router: Router, request: LiveRequest): Promise<LiveTask | undefined> {
  const { namespace, agent, taskId } = request;
  const query = new URLSearchParams({ agent: `${namespace}/${agent}`, taskId });
  return readTaskAt(router, `/.ploinky/task?${query}`, request.signal);
}

/** The same at a path of the router. */
export async function readTaskAt(
  router: Router,
  path: string,
  signal: AbortSignal,
): Promise<LiveTask | undefined> {
  const signals = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  const ask = async () => {
    const headers = { accept: 'application/json' };
    const answer = await sendToRouter({ router, method: 'GET', path, headers, signal: signals });
    const said = await text(answer);
    return { status: answer.statusCode ?? 0, said, body: parse(said) };
  };
  const { status, said, body } = await ask().catch((error: unknown) => {
    if (signal.aborted) throw error;
    const why = router.trouble?.() ?? messageOf(error);
    throw new CliError(exitCodes.notRunning, `the router at ${router.url} cannot be reached: ${why}`);
  });
  if (status === 200 && isObject(body?.['task'])) return toLive(body['task']);
  if (status === 401) throw notKnown(router, said);
  // 502 to 504: the agent is away for the moment.
  if (status > 501 || (status === 404 && body !== undefined)) return undefined;
  throw new CliError(
    exitCodes.failed,
    `the router at ${router.url} tells nothing of tasks (HTTP ${status})`,
    'Is it as new as this program, and does what stands before it let /.ploinky/ through?',
  );
}

function parse(body: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(body);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function toLive(task: Record<string, unknown>): LiveTask {
  const { status, logTail, logSeq, logTruncated, progress, result, error } = task;
  return {
    status: typeof status === 'string' ? status : '',
    logTail: typeof logTail === 'string' ? logTail : '',
    logSeq: typeof logSeq === 'number' ? logSeq : 0,
    logTruncated: logTruncated === true,
    progress: isObject(progress) ? progress : undefined,
    result: isObject(result) ? result : undefined,
    error: typeof error === 'string' ? error : undefined,
  };
}
