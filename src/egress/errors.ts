import { CodedError } from '#kit/errors.ts';

/** Every way the proxy says no, with the HTTP status it answers. */
const egressRefusals = {
  /** The request is not one a proxy can serve. */
  BadRequest: 400,
  /** No credential, or not one of an existing Agent. */
  Unauthenticated: 407,
  /** No rule names the target. */
  NotAllowed: 403,
  /** The target's addresses are this machine's, its link's or a private network's. */
  PrivateAddress: 403,
  /** TLS through a tunnel is for another server than the tunnel. */
  ServerName: 403,
  /** The workload has too many connections open. */
  TooMany: 429,
  /** The name could not be resolved. */
  NameNotFound: 502,
  /** Nothing accepted the connection. */
  Unreachable: 502,
  /** The target was too slow to connect. */
  Timeout: 504,
} as const;

export type EgressCode = keyof typeof egressRefusals;

export class EgressRefusal extends CodedError {
  readonly status: number;
  /** The answer's reason phrase: for many programs the only part of a proxy's refusal that people get to see. */
  readonly phrase: string;

  constructor(
    code: EgressCode,
    message: string,
    options: { readonly cause?: unknown; readonly phrase?: string } = {},
  ) {
    super(code, message, options.cause === undefined ? {} : { cause: options.cause });
    this.name = 'EgressRefusal';
    this.status = egressRefusals[code];
    this.phrase = options.phrase ?? code;
  }
}
