import type { Clock } from '#kit/clock.ts';
import type { Random } from '#kit/random.ts';
import { askableCapabilities } from '#mcp/bridge/capabilities.ts';
import {
  asksForInput,
  isAskingMethod,
  type Question,
  questionsFor,
  retryParams,
} from '#mcp/bridge/questions.ts';
import { errorCodes, type Params, RpcError } from '#mcp/jsonrpc.ts';
import type { Result } from '#mcp/results.ts';
import type { Settings } from '../config/settings.ts';
import type { CallContext } from '../source.ts';
import { nobodyAnswered } from './asked-call.ts';

export interface RoundsOptions {
  readonly clock: Clock;
  /** Milliseconds for a client to answer what it is asked at once. */
  readonly answerMs: number;
  /** A call that asks more often ends with an error. */
  readonly maxRounds: number;
  readonly mintId: () => string;
}

/** As the settings say. */
export function roundLimits(of: {
  readonly clock: Clock;
  readonly random: Random;
  readonly settings: Settings;
}): RoundsOptions {
  const { maxInputRounds: maxRounds, parkTtlMs: answerMs } = of.settings;
  return { clock: of.clock, maxRounds, answerMs, mintId: () => of.random.uuid() };
}

/**
 * A call of a client with sessions to a server of 2026-07-28: each `input_required` is put to the client on the
 * call's stream, and the call sent again with the answers. Throws RpcError `internal` when it cannot be asked or
 * refuses, does not answer in time, or is asked too often.
 */
export async function answerRounds(
  method: string,
  params: Params,
  context: CallContext,
  send: (params: Params) => Promise<Result>,
  options: RoundsOptions,
): Promise<Result> {
  let result = await send(params);
  for (let round = 1; asksForInput(result); round++) {
    if (!isAskingMethod(method)) throw internal(`The agent asks the client something in ${method}`);
    const responses = await askInput(result, round, context, options);
    result = await send(retryParams(params, responses, result['requestState']));
  }
  return result;
}

/** The client's answers to the `inputRequests` of a result, by their keys. Throws as answerRounds. */
export async function askInput(
  result: Result,
  round: number,
  context: CallContext,
  options: RoundsOptions,
): Promise<Record<string, Result>> {
  const { maxRounds, mintId } = options;
  if (round > maxRounds) throw internal(`The agent asks the client more than ${maxRounds} times`);
  return askAll(questionsFor(result, askableCapabilities(context.capabilities), mintId), context, options);
}

/** All at once; the first that is refused withdraws the others. */
async function askAll(
  questions: ReadonlyMap<string, Question>,
  context: CallContext,
  { clock, answerMs }: RoundsOptions,
): Promise<Record<string, Result>> {
  if (questions.size === 0) return {};
  const { ask } = context;
  if (ask === undefined) throw internal('The agent asks the client something, and it cannot be asked');
  const withdrawn = new AbortController();
  const signal = AbortSignal.any([context.signal, withdrawn.signal]);
  const cancelTimer = clock.after(answerMs, () => withdrawn.abort(nobodyAnswered()));
  try {
    const answers = [...questions].map(
      async ([key, question]) => [key, await askOne(ask, question, signal)] as const,
    );
    return Object.fromEntries(await Promise.all(answers));
  } catch (error) {
    withdrawn.abort(internal('Another question of the same call was refused'));
    throw error;
  } finally {
    cancelTimer();
  }
}

/** A server of 2026-07-28 can be given answers only, so that a client's error ends the call. */
async function askOne(
  ask: NonNullable<CallContext['ask']>,
  { method, params }: Question,
  signal: AbortSignal,
): Promise<Result> {
  try {
    return await ask(method, params, signal);
  } catch (error) {
    if (signal.aborted || !(error instanceof RpcError)) throw error;
    const { code, message, data } = error;
    throw new RpcError(errorCodes.internal, `The client did not answer ${method}: ${message}`, {
      code,
      message,
      ...(data !== undefined && { data }),
    });
  }
}

function internal(message: string): RpcError {
  return new RpcError(errorCodes.internal, message);
}
