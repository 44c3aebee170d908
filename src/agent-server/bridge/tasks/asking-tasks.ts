import type { Clock } from '#kit/clock.ts';
import type { Random } from '#kit/random.ts';
import { inputRequired } from '#mcp/bridge/questions.ts';
import { errorCodes, type Params, RpcError } from '#mcp/jsonrpc.ts';
import type { Result } from '#mcp/results.ts';
import type { CallContext } from '../../source.ts';
import { AskedCall, type AskedCallOptions, isAnonymous, nobodyAnswered } from '../asked-call.ts';
import type { TaskLink } from './known-tasks.ts';
import { ownerOf } from './names.ts';

/**
 * Tasks of 2025-11-25 that want to know something of clients of 2026-07-28: the server asks in a tasks/result, which
 * is kept open between the client's requests.
 */
export interface AskingTasks {
  /** What the task asks, by the keys of `inputRequests`; undefined when nothing was asked within a second. */
  questions(key: string, begin: BeginAsking): Promise<Params | undefined>;
  /** Answers to what was asked; others are ignored. False when nothing is open. */
  answer(key: string, responses: Readonly<Record<string, Result>>): boolean;
  /** Nothing is asked any more. */
  end(key: string): void;
  close(): void;
}

export interface BeginAsking {
  readonly link: TaskLink;
  readonly context: CallContext;
  /** Sends the tasks/result. */
  send(context: CallContext): Promise<Result>;
}

export interface AskingTasksOptions extends Omit<AskedCallOptions, 'keyPrefix'> {
  readonly clock: Clock;
  readonly random: Random;
  /** Milliseconds without a client that asks, after which nobody is waited for. */
  readonly ttlMs: number;
  readonly max: number;
  /** Of one user; the one that was not asked for the longest makes room. */
  readonly maxPerUser: number;
}

interface Asking {
  /** Undefined where many share it, so that the limit of one is not for them. */
  readonly owner: string | undefined;
  readonly call: AskedCall;
  cancelTimer: () => void;
}

/** Milliseconds for a question to arrive, once the server was told that it can ask. */
const firstMs = 1000;

export function createAskingTasks(options: AskingTasksOptions): AskingTasks {
  const { clock, random, ttlMs, max, maxPerUser } = options;
  /** In order of when they were last asked for. */
  const open = new Map<string, Asking>();

  function remove(key: string, call: AskedCall): void {
    const entry = open.get(key);
    if (entry?.call !== call) return;
    entry.cancelTimer();
    open.delete(key);
  }
  function abandon(key: string, { call }: Asking): void {
    remove(key, call);
    call.abandon(nobodyAnswered());
  }
  function makeRoom(owner: string | undefined): void {
    const own = [...open].filter((entry) => owner !== undefined && entry[1].owner === owner);
    const [oldest] = own;
    if (oldest !== undefined && own.length >= maxPerUser) abandon(...oldest);
    if (open.size < max) return;
    throw new RpcError(errorCodes.internal, `More than ${max} tasks wait for answers of their clients`);
  }
  function begin(key: string, { link, context, send }: BeginAsking): Asking {
    const owner = isAnonymous(context) ? undefined : ownerOf(context);
    makeRoom(owner);
    const keyPrefix = `question-${random.bytes(6).toString('base64url')}`;
    const call = new AskedCall(context, link, send, { ...options, keyPrefix });
    const entry = { owner, call, cancelTimer: () => {} };
    open.set(key, entry);
    void call.ended.then(() => remove(key, call));
    return entry;
  }
  function touch(key: string, entry: Asking): void {
    entry.cancelTimer();
    entry.cancelTimer = clock.after(ttlMs, () => abandon(key, entry));
    open.delete(key);
    open.set(key, entry);
  }
  function end(key: string): void {
    const entry = open.get(key);
    if (entry === undefined) return;
    remove(key, entry.call);
    entry.call.cancel(new Error('The task has ended'));
  }
  return {
    async questions(key, how) {
      const entry = open.get(key) ?? begin(key, how);
      touch(key, entry);
      await untilAsked(entry.call, how.context, clock);
      const { inputRequests } = inputRequired(entry.call.questions, undefined);
      return entry.call.questions.size === 0 ? undefined : (inputRequests as Params);
    },
    answer(key, responses) {
      const entry = open.get(key);
      entry?.call.answer(responses);
      return entry !== undefined;
    },
    end,
    close() {
      for (const key of [...open.keys()]) end(key);
    },
  };
}

/** A client that goes away meanwhile ends nothing: the task is its own. */
async function untilAsked(call: AskedCall, context: CallContext, clock: Clock): Promise<void> {
  if (call.questions.size > 0) return;
  const late = new AbortController();
  const cancelTimer = clock.after(firstMs, () => late.abort(new Error('nothing was asked')));
  try {
    await call.untilAsked(AbortSignal.any([late.signal, context.signal]));
  } finally {
    cancelTimer();
  }
}
