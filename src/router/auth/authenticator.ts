import type { IncomingMessage, ServerResponse } from 'node:http';
import { CodedError } from '#kit/errors.ts';
import type { Access } from '#routing/access.ts';
import type { WireUser } from '#wire/claims.ts';
import type { Proof } from '../caller.ts';

/** Who somebody showed to be. */
export interface Identity {
  readonly user: WireUser;
  readonly proof: Proof;
  readonly realm: string;
  readonly scopes?: readonly string[];
  readonly claims?: Readonly<Record<string, unknown>>;
  /** The token is for the very URL that was asked (RFC 8707); absent where nobody looks at that. */
  readonly ownAudience?: boolean;
  /** Milliseconds since the epoch. */
  readonly expires: number;
}

/** One way to show who one is. */
export interface Authenticator {
  /**
   * Undefined: nothing in this request is for it. Throws or rejects with AuthRefused. What it returns at once costs the
   * request no turn: it remembers what it verified, by a digest of the credential, until that expires, and bounded.
   * `response` is for headers of the answer, a renewed cookie say; nothing else of it may be touched. Undefined: the
   * answer went out, and the question is whether the credential still counts.
   */
  identify(
    request: IncomingMessage,
    access: Access,
    response: ServerResponse | undefined,
  ): Identity | undefined | Promise<Identity | undefined>;
}

export interface RefusalDetails {
  readonly status: 401 | 403 | 503;
  /** As OAuth has it: `invalid_token`, `insufficient_scope`; or a word of ours. */
  readonly code: string;
  readonly description: string;
  /** Further parameters of the challenge in `WWW-Authenticate`. */
  readonly challenge?: Readonly<Record<string, string>>;
}

/** A credential that was shown and does not count, or does not suffice. */
export class AuthRefused extends CodedError {
  readonly details: RefusalDetails;

  constructor(details: RefusalDetails, cause?: unknown) {
    super(details.code, details.description, { cause });
    this.details = details;
  }
}
