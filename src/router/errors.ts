import { CodedError } from '#kit/errors.ts';

/** Every code that this folder throws. What clients see is made of it where the answer is written. */
export type RouterErrorCode =
  /** The agent takes no calls now; the message is fit for clients. */
  | 'AgentUnavailable'
  /** The connection broke after the request was sent: the call may have run. */
  | 'AgentLost'
  /** No answer in time: the call may have run. */
  | 'AgentTimeout'
  /** The agent answered something that is no answer, or too much of it. */
  | 'AgentAnswer'
  /** The request is none that can be sent; nothing of it was. The message is fit for clients. */
  | 'RequestInvalid'
  /** The client went away. */
  | 'ClientGone'
  /** The router does not know its keys yet. */
  | 'NoKeys'
  /** A name belongs to several agents. */
  | 'Ambiguous'
  /** No agent has the name. */
  | 'NotFound'
  /** An answer that needs every agent of a Route lacks some. */
  | 'BackendsMissing';

export class RouterError extends CodedError {
  declare readonly code: RouterErrorCode;
  /** Agents that the error is about, or might know more. */
  readonly agents: readonly string[];

  constructor(
    code: RouterErrorCode,
    message: string,
    options: { cause?: unknown; agents?: readonly string[] } = {},
  ) {
    super(code, message, options);
    this.agents = options.agents ?? [];
  }
}
