import { CodedError } from '#kit/errors.ts';

/** Every code that this folder throws; what clients see are RpcErrors and HTTP answers. */
export type AgentServerErrorCode =
  /** The configuration document that the agent-server was started with cannot be used. */
  | 'InvalidConfig'
  /** A file of tools cannot be read or is not JSON. */
  | 'InvalidToolFile'
  /** The command line is wrong. */
  | 'Usage'
  /** Too many tasks wait already. */
  | 'QueueFull'
  /** The process behind a call could not be kept running. */
  | 'UpstreamLost'
  /** The upstream did not answer in time. */
  | 'UpstreamTimeout'
  /** The upstream answered something that is not MCP. */
  | 'UpstreamInvalid'
  /** There is no room for one more connection to a remote upstream now; those that there are go on. */
  | 'UpstreamBusy'
  /** The egress proxy does not let the agent reach a remote upstream. */
  | 'UpstreamNotAllowed'
  /** A remote upstream, or its authorization server, refuses the agent's credentials. */
  | 'UpstreamUnauthorized'
  /** A remote upstream wants the very person who calls to log in. */
  | 'UpstreamLoginNeeded';

export class AgentServerError extends CodedError {
  declare readonly code: AgentServerErrorCode;

  constructor(
    code: AgentServerErrorCode,
    message: string,
    options: { cause?: unknown; remedy?: string } = {},
  ) {
    super(code, message, options);
  }
}
