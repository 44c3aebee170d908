import {
  failureFrom,
  isRequestId,
  type JsonRpcMessage,
  type JsonRpcRequest,
  type Params,
  type RequestId,
  resultOf,
} from '#mcp/jsonrpc.ts';
import type { CallContext } from '../source.ts';
import type { AnswerQuestion } from './session-clients.ts';

/** Answers what a server asks. */
export interface QuestionDesk {
  /** `signal` ends with the call that the question came with. */
  take(question: JsonRpcRequest, context: CallContext | undefined, signal: AbortSignal): void;
  /** The server waits no more for the answer to a question. */
  withdraw(params: Params): void;
}

export function createQuestionDesk(
  answer: AnswerQuestion,
  post: (message: JsonRpcMessage) => Promise<void>,
): QuestionDesk {
  /** That are being answered. */
  const open = new Map<RequestId, AbortController>();

  /** Nobody hears the answer to a question that was withdrawn, or whose call is over. */
  async function serve(
    { id, method, params }: JsonRpcRequest,
    context: CallContext | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const withdrawn = new AbortController();
    const stopped = AbortSignal.any([withdrawn.signal, signal]);
    open.set(id, withdrawn);
    const message = await answer(method, params ?? {}, context, stopped).then(
      (result) => resultOf(id, result),
      (error: unknown) => failureFrom(id, error),
    );
    open.delete(id);
    if (!stopped.aborted) await post(message);
  }
  return {
    take: (question, context, signal) => void serve(question, context, signal),
    withdraw({ requestId }) {
      if (isRequestId(requestId)) open.get(requestId)?.abort();
    },
  };
}
