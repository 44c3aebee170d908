import { CodedError } from '#kit/errors.ts';

export type OutgoingErrorCode =
  /** The router asks no such URL or address; nothing was sent. */
  | 'OutgoingRefused'
  /** No connection, or no answer in time. */
  | 'OutgoingUnreachable'
  /** An answer that is none, or too much of one. */
  | 'OutgoingAnswer';

/** What became of a request of the router's own to an identity provider. */
export class OutgoingError extends CodedError {
  declare readonly code: OutgoingErrorCode;

  constructor(code: OutgoingErrorCode, message: string, options: { cause?: unknown; remedy?: string } = {}) {
    super(code, message, options);
  }
}
