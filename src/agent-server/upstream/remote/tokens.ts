import * as oauth from 'oauth4webapi';
import type { UpstreamSecrets } from '#api/agent-server-config.ts';
import { type BackoffOptions, backoffDelay } from '#kit/backoff.ts';
import type { Clock } from '#kit/clock.ts';
import { messageOf } from '#kit/errors.ts';
import type { Log } from '#kit/log.ts';
import { AgentServerError } from '../../errors.ts';
import type { Challenge } from './challenge.ts';
import { clientAuthentication } from './client-authentication.ts';
import { findTokenPlace, insecure, type TokenPlace } from './discovery.ts';
import type { Fetch } from './fetch.ts';
import { refusal } from './refusal.ts';

export interface TokenOptions {
  readonly url: URL;
  readonly clientId: string;
  /** Authorization server and scopes, where the spec names them. */
  readonly issuer: string | undefined;
  readonly scopes: readonly string[] | undefined;
  /** Asked at each use: they change while the agent runs. */
  readonly secrets: () => UpstreamSecrets;
  readonly fetch: Fetch;
  readonly clock: Clock;
  readonly log: Log;
}

/** The agent's own access token for a remote MCP server, by the client credentials grant. */
export interface Tokens {
  /**
   * The token, a new one when it is over; undefined before the server has refused a request without. Throws
   * UpstreamUnauthorized, UpstreamNotAllowed, UpstreamLost or UpstreamTimeout.
   */
  current(): Promise<string | undefined>;
  /** Another token than `refused`, by what the server said to it; undefined: no other would be any better. */
  renew(challenge: Challenge, refused: string | undefined): Promise<string | undefined>;
  /**
   * A token that was new is refused as well: for a while nobody asks for another. It stays in use, because what is
   * refused may be one call alone.
   */
  giveUp(refused: string | undefined, error: AgentServerError): void;
  /** The server has taken a token: failures whose pause is over count no more. */
  served(): void;
}

interface Held {
  readonly token: string;
  /** On the monotonic clock; undefined: nobody said. */
  readonly endsAt: number | undefined;
  readonly renewAt: number | undefined;
}

/** A token is renewed in the last fifth of its life, at most a minute before its end, and is not used in its last seconds. */
const renewShare = 0.2;
const renewMs = 60_000;
const lastMs = 5_000;
const again: BackoffOptions = { initial: 1_000, max: 60_000, jitter: 0 };

export function createTokens(options: TokenOptions): Tokens {
  return new ClientCredentials(options);
}

class ClientCredentials implements Tokens {
  readonly #options: TokenOptions;
  #held: Held | undefined;
  #place: TokenPlace | undefined;
  /** Where the server said that its metadata are. */
  #metadata: string | undefined;
  #scopes: ReadonlySet<string> = new Set();
  #pending: Promise<Held> | undefined;
  #failed: { error: unknown; count: number; notBefore: number; by: UpstreamSecrets } | undefined;

  constructor(options: TokenOptions) {
    this.#options = options;
  }

  async current(): Promise<string | undefined> {
    const held = this.#held;
    if (held === undefined) {
      const failure = this.#failure();
      if (failure !== undefined) throw failure;
      return undefined;
    }
    const now = this.#options.clock.monotonic();
    if (held.endsAt !== undefined && now >= held.endsAt) return (await this.#fetch()).token;
    if (held.renewAt !== undefined && now >= held.renewAt) {
      this.#fetch().catch((error: unknown) =>
        this.#options.log.warn('The token of the remote MCP server cannot be renewed yet', {
          error: messageOf(error),
        }),
      );
    }
    return held.token;
  }

  async renew(challenge: Challenge, refused: string | undefined): Promise<string | undefined> {
    if (this.#held !== undefined && this.#held.token !== refused) return this.#held.token;
    if (challenge.status === 401) {
      // Where the server now trusts another authorization server, its metadata say so.
      this.#place = undefined;
      this.#scopes = new Set(challenge.scopes);
    } else {
      if (challenge.scopes.every((scope) => this.#scopes.has(scope))) return undefined;
      this.#scopes = new Set([...this.#scopes, ...challenge.scopes]);
    }
    this.#metadata = challenge.metadata;
    return (await this.#fetch()).token;
  }

  giveUp(refused: string | undefined, error: AgentServerError): void {
    if (this.#held?.token !== refused) return;
    this.#fail(error, this.#options.secrets());
  }

  /** One request for all who wait. */
  #fetch(): Promise<Held> {
    const failure = this.#failure();
    if (failure !== undefined) return Promise.reject(failure);
    this.#pending ??= this.#ask(this.#options.secrets()).finally(() => {
      this.#pending = undefined;
    });
    return this.#pending;
  }

  /** Why there is none now: after a failure nobody is asked before a pause, unless the secrets are others. */
  #failure(): unknown {
    const failed = this.#failed;
    if (failed === undefined || failed.by !== this.#options.secrets()) return undefined;
    return this.#options.clock.monotonic() < failed.notBefore ? failed.error : undefined;
  }

  #fail(error: unknown, by: UpstreamSecrets): void {
    const count = (this.#failed?.count ?? 0) + 1;
    const notBefore = this.#options.clock.monotonic() + backoffDelay(again, count, 0);
    this.#failed = { error, count, notBefore, by };
  }

  async #ask(secrets: UpstreamSecrets): Promise<Held> {
    try {
      this.#held = await this.#askOnce(secrets);
      return this.#held;
    } catch (error) {
      this.#fail(error, secrets);
      throw error;
    }
  }

  served(): void {
    if (this.#failed === undefined || this.#options.clock.monotonic() < this.#failed.notBefore) return;
    this.#failed = undefined;
  }

  async #askOnce(secrets: UpstreamSecrets): Promise<Held> {
    const { url, issuer, clientId, fetch, clock } = this.#options;
    this.#place ??= await findTokenPlace({ url, issuer, metadata: this.#metadata, fetch });
    const { server, resource } = this.#place;
    const client: oauth.Client = { client_id: clientId };
    const askedAt = clock.monotonic();
    try {
      const answer = await oauth.clientCredentialsGrantRequest(
        server,
        client,
        clientAuthentication(server, secrets),
        { resource, ...this.#scope() },
        { [oauth.customFetch]: fetch, ...insecure(new URL(server.token_endpoint ?? url), { url, issuer }) },
      );
      const token = await oauth.processClientCredentialsResponse(server, client, answer);
      return held(token, askedAt);
    } catch (error) {
      throw error instanceof AgentServerError ? error : refusal(server, error);
    }
  }

  /** Those of the spec; else those that the server asks for; else those of its metadata. */
  #scope(): { scope?: string } {
    const { scopes } = this.#options;
    const asked = [...this.#scopes];
    const chosen = scopes ?? (asked.length > 0 ? asked : (this.#place?.scopes ?? []));
    return chosen.length === 0 ? {} : { scope: chosen.join(' ') };
  }
}

function held(
  { access_token: token, expires_in: seconds }: oauth.TokenEndpointResponse,
  askedAt: number,
): Held {
  if (seconds === undefined) return { token, endsAt: undefined, renewAt: undefined };
  const life = seconds * 1_000;
  return {
    token,
    endsAt: askedAt + Math.max(life / 2, life - lastMs),
    renewAt: askedAt + life - Math.min(renewMs, life * renewShare),
  };
}
