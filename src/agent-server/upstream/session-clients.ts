import type { Clock } from '#kit/clock.ts';
import { askableCapabilities, canBeAsked, mayAsk } from '#mcp/bridge/capabilities.ts';
import { errorCodes, type Params, RpcError } from '#mcp/jsonrpc.ts';
import type { Result } from '#mcp/results.ts';
import { relatedTask } from '#mcp/tasks/rename.ts';
import type { CallContext } from '../source.ts';
import { type ClientLink, type LinkEntry, LinkTable } from './client-links.ts';
import type { UpstreamCall } from './connection.ts';
import { answerQuestion } from './http-call.ts';

/**
 * Upstream sessions of single clients. A server may ask only who declared that it can answer, and what it asks
 * must reach that client and no other: so each client that can be asked gets an upstream session of its own, opened
 * with its first call. All others share one that declares nothing.
 */
export interface SessionClients {
  /** Undefined: the call belongs on the shared session. */
  request(method: string, params: Params, call: UpstreamCall): Promise<Result> | undefined;
  /** Ends the upstream session of a client that has gone. */
  end(session: string): void;
  close(): Promise<void>;
}

/** Answers what a server asks, on the answer to `context`'s call or outside of any. */
export type AnswerQuestion = (
  method: string,
  params: Params,
  context: CallContext | undefined,
  signal: AbortSignal,
) => Promise<Result>;

export interface SessionClientsOptions {
  readonly clock: Clock;
  /** Milliseconds until an unused upstream session ends. */
  readonly idleMs: number;
  /** At once. When more are needed, the longest unused one ends, or one is waited for. */
  readonly max: number;
  /** One call at a time: questions name no call. */
  readonly oneByOne: boolean;
  /** Opens an upstream session that declares these capabilities, for the client with this session. */
  open(
    capabilities: CallContext['capabilities'],
    answer: AnswerQuestion,
    signal: AbortSignal,
    session: string,
  ): Promise<ClientLink>;
  /** A session has ended by itself. */
  onLost?(reason: string): void;
}

export function createSessionClients(options: SessionClientsOptions): SessionClients {
  const table = new LinkTable({
    ...options,
    open: (capabilities, running, signal, session) =>
      options.open(capabilities, answerFor(capabilities, running, options.oneByOne), signal, session),
  });
  return {
    request(method, params, call) {
      const { context } = call;
      if (context?.session === undefined || !isAskable(context)) return undefined;
      const { session } = context;
      const known = table.find(session);
      const send = (entry: LinkEntry) => table.use(entry, method, params, call, context);
      if (known !== undefined) return send(known);
      return table.open(session, askableCapabilities(context.capabilities), call.signal, send);
    },
    end: (session) => table.end(session),
    close: () => table.close(),
  };
}

function isAskable({ era, ask, capabilities }: CallContext): boolean {
  return era === 'sessions' && ask !== undefined && canBeAsked(capabilities);
}

/**
 * A question that names no call goes to the client with the youngest call that runs, since it is the same client
 * in every case; but for clients that nobody knows apart, where only the one that runs alone can be meant. One of a
 * task goes to who waits for the task.
 */
function answerFor(
  capabilities: CallContext['capabilities'],
  running: ReadonlySet<CallContext>,
  oneByOne: boolean,
): AnswerQuestion {
  return async (method, params, context, signal) => {
    if (!mayAsk(capabilities, method, params)) return answerQuestion(method);
    const task = relatedTask(params);
    const youngest = [...running].findLast((one) => one.task === task);
    const mayBeAnother = youngest?.anonymous === true && !oneByOne;
    const ask = (context ?? (mayBeAnother ? undefined : youngest))?.ask;
    if (ask === undefined)
      throw new RpcError(errorCodes.internal, 'No call of the client runs that could be asked');
    return ask(method, params, signal);
  };
}
