import { CodedError } from '#kit/errors.ts';

/** Every code that this folder throws. */
export type WireErrorCode =
  /** The master key Secret is absent, too short or malformed. */
  | 'InvalidMasterKey'
  /** A key ring is empty, has more than two keys, a short key or a kid twice. */
  | 'InvalidKey'
  /** A name holds characters that would make two identities derive one key. */
  | 'InvalidIdentity'
  /** A token does not authorise the call it came with. */
  | 'InvocationRejected'
  /** Nobody listens at the address, or not in time. */
  | 'ConnectFailed'
  /** Whoever listens at the address does not hold the agent's key. */
  | 'ProofFailed'
  /** A change stream ended, went silent or sent something else than change lines. */
  | 'ChangesBroken'
  /** The agent-server takes nothing of the kind, now or later. */
  | 'Refused'
  /** The agent-server did not take what it was given this time. */
  | 'NotTaken'
  /** What is to be sealed is longer than a header may be. */
  | 'SealTooLarge';

export class WireError extends CodedError {
  declare readonly code: WireErrorCode;

  constructor(code: WireErrorCode, message: string, options: { cause?: unknown; remedy?: string } = {}) {
    super(code, message, options);
  }
}

/** Why a token was refused; sent to callers as `Invocation rejected: <reason>`. */
export type RejectionReason =
  | 'missing secure wire headers'
  | 'jwtVerify: malformed token'
  | 'jwtVerify: unknown key'
  | 'jwtVerify: signature invalid'
  | 'jwtVerify: malformed claims'
  | 'jwtVerify: token expired'
  | 'jwtVerify: issued in the future'
  | 'jwtVerify: lifetime too long'
  | 'jwtVerify: issued before start'
  | 'jwtVerify: audience mismatch'
  | 'jwtVerify: workload mismatch'
  | 'jwtVerify: body hash mismatch'
  | 'jwtVerify: token replayed'
  | 'jwtVerify: replay window full'
  | 'jwtVerify: not delegable'
  | 'jwtVerify: scope not held'
  | 'jwtVerify: tool not delegated';

export class InvocationRejected extends WireError {
  readonly reason: RejectionReason;

  constructor(reason: RejectionReason) {
    super('InvocationRejected', `Invocation rejected: ${reason}`);
    this.reason = reason;
  }
}
