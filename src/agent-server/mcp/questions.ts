import {
  errorCodes,
  isResult,
  type JsonRpcResponse,
  notificationOf,
  type Params,
  RpcError,
} from '#mcp/jsonrpc.ts';
import type { Result } from '#mcp/results.ts';
import type { Exchange } from '../http/exchange.ts';
import type { Session } from './session.ts';

/** Unanswered questions to one client; more are refused. */
const maxOpen = 64;

/**
 * Puts a question (sampling, elicitation, roots) to the client of the sessions era on the stream of its call.
 * Rejects with RpcError: the client's own error, no stream to ask on, the client went away. An abort tells the
 * client that nobody waits any more, and rejects.
 */
export function askClient(
  session: Session,
  exchange: Exchange,
  question: { readonly method: string; readonly params: Params },
  signal: AbortSignal,
): Promise<Result> {
  session.questions ??= new Map();
  const { questions } = session;
  if (questions.size >= maxOpen) throw unasked(`More than ${maxOpen} questions to the client are open`);
  const id = session.mintQuestionId();
  return new Promise<Result>((resolve, reject) => {
    const cancel = () => {
      exchange.notify(notificationOf('notifications/cancelled', { requestId: id }));
      reject(signal.reason);
    };
    if (signal.aborted || !exchange.notify({ jsonrpc: '2.0', id, ...question })) {
      reject(signal.aborted ? signal.reason : unasked('The client takes no event stream to be asked on'));
      return;
    }
    signal.addEventListener('abort', cancel, { once: true });
    exchange.onDisconnect(() => reject(unasked('The client went away without an answer')));
    questions.set(id, (response) => {
      signal.removeEventListener('abort', cancel);
      if (isResult(response)) resolve(response.result);
      else reject(new RpcError(response.error.code, response.error.message, response.error.data));
    });
  }).finally(() => questions.delete(id));
}

/** A client's answer. One to a question that nobody asked, or asks no more, is dropped. */
export function takeAnswer(session: Session, response: JsonRpcResponse): void {
  if (response.id !== null) session.questions?.get(response.id)?.(response);
}

function unasked(message: string): RpcError {
  return new RpcError(errorCodes.internal, message);
}
