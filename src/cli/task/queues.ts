import { text } from 'node:stream/consumers';
import { messageOf } from '#kit/errors.ts';
import { isObject } from '#kit/json.ts';
import { parseQueueState, type QueueState } from '#wire/queue-state.ts';
import { CliError } from '../errors.ts';
import { exitCodes } from '../exit-codes.ts';
import { sendToRouter } from '../mcp-http.ts';
import type { Router } from '../router.ts';

export interface AgentQueues {
  readonly agents: readonly AgentLine[];
  /** Agents that were not asked because there are so many. */
  readonly omitted: number;
}

export interface AgentLine {
  readonly namespace: string;
  readonly agent: string;
  /** Instances that were asked, and of them those that answered. */
  readonly instances: number;
  readonly answered: number;
  readonly queue: QueueState | undefined;
  /** Why none was asked. */
  readonly unavailable: string | undefined;
}

const timeoutMs = 20_000;

/** What waits and runs at each agent that the router serves at this place. Throws `notRunning` and `failed`. */
export async function readQueues(router: Router, signal: AbortSignal): Promise<AgentQueues> {
  const response = await sendToRouter({
    router,
    method: 'GET',
    path: '/.ploinky/queues',
    headers: { accept: 'application/json' },
    signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
  }).catch((error: unknown) => {
    if (signal.aborted) throw error;
    const why = router.trouble?.() ?? messageOf(error);
    throw new CliError(exitCodes.notRunning, `the router at ${router.url} cannot be reached: ${why}`);
  });
  const body = await text(response);
  const queues = response.statusCode === 200 ? parse(body) : undefined;
  if (queues !== undefined) return queues;
  throw new CliError(
    exitCodes.failed,
    `the router at ${router.url} tells nothing of queues (HTTP ${response.statusCode})`,
    'Is it as new as this program, and does what stands before it let /.ploinky/ through?',
  );
}

function parse(body: string): AgentQueues | undefined {
  try {
    const value: unknown = JSON.parse(body);
    if (!isObject(value) || !Array.isArray(value['agents'])) return undefined;
    const { omitted } = value;
    return {
      agents: value['agents'].filter(isObject).map(toLine),
      omitted: typeof omitted === 'number' ? omitted : 0,
    };
  } catch {
    return undefined;
  }
}

function toLine({
  namespace,
  agent,
  instances,
  answered,
  queue,
  unavailable,
}: Record<string, unknown>): AgentLine {
  return {
    namespace: String(namespace ?? ''),
    agent: String(agent ?? ''),
    instances: Number(instances ?? 0),
    answered: Number(answered ?? 0),
    queue: parseQueueState(queue),
    unavailable: typeof unavailable === 'string' ? unavailable : undefined,
  };
}
