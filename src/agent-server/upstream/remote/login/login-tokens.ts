import { AgentServerError } from '#agent-server/errors.ts';
import { type BackoffOptions, backoffDelay } from '#kit/backoff.ts';
import { messageOf } from '#kit/errors.ts';
import type { Log } from '#kit/log.ts';
import type { Challenge } from '../challenge.ts';
import type { TokenPlace } from '../discovery.ts';
import { knowsNoClient, ServerSaysNo } from '../refusal.ts';
import type { Tokens } from '../tokens.ts';
import type { Clients } from './clients.ts';
import {
  type BegunLogin,
  beginLogin,
  type FlowOptions,
  finishLogin,
  refreshTokens,
  revokeTokens,
  type TokenSet,
} from './flow.ts';
import { holdPlaces, type Places } from './places.ts';
import { chooseScopes } from './scopes.ts';

/** Where a person comes back to after the login. */
export interface Return {
  readonly redirectUri: string;
  /** Address of the client id metadata document, where it is served to everybody. */
  readonly document: string | undefined;
}

/** A browser that is at hand while the request waits. */
export interface Visit extends Return {
  /** Goes where it is sent, and resolves to the address that it is sent back to. */
  follow(url: URL): Promise<URL>;
}

export interface LoginOptions extends FlowOptions {
  readonly clientId: string | undefined;
  readonly scopes: readonly string[] | undefined;
  readonly clients: Clients;
  /** Shared with others at the same remote server. Default: its own. */
  readonly places?: Places;
  readonly log: Log;
  /** Undefined: who has to log in is told so. */
  readonly visit: Visit | undefined;
  /** From before. */
  readonly kept?: TokenSet | undefined;
  /** Told the tokens whenever they are others; undefined: there are none any more. */
  readonly keep?: (tokens: TokenSet | undefined) => void;
}

const renewShare = 0.2;
const renewMs = 60_000;
const lastMs = 5_000;
const again: BackoffOptions = { initial: 1_000, max: 60_000, jitter: 0 };

/** The access token of one person for a remote MCP server, by the authorization code grant. */
export class LoginTokens implements Tokens {
  readonly #options: LoginOptions;
  readonly #places: Places;
  #set: TokenSet | undefined;
  #place: TokenPlace | undefined;
  /** Where the server said that its metadata are. */
  #metadata: string | undefined;
  /** Scopes that the server's newest refusal names, and those of logins before. */
  #named: readonly string[] = [];
  #asked: ReadonlySet<string>;
  #isOver = false;
  #wantsMore = false;
  #refreshing: Promise<TokenSet | undefined> | undefined;
  #visiting: Promise<TokenSet> | undefined;
  #failed: { readonly error: unknown; readonly count: number; readonly notBefore: number } | undefined;

  constructor(options: LoginOptions) {
    this.#options = options;
    this.#places = options.places ?? holdPlaces(options);
    this.#set = options.kept;
    this.#asked = new Set(options.kept?.scopes);
  }

  /** There are tokens, and the server has not refused them. */
  get isLoggedIn(): boolean {
    return this.#set !== undefined && !this.#isOver;
  }

  /** Something was refused for want of a scope that a login would ask for. */
  get wantsMore(): boolean {
    return this.#wantsMore;
  }

  async current(): Promise<string | undefined> {
    const set = this.#set;
    if (this.#isOver) throw loginNeeded(this.#options.url);
    if (set?.ends === undefined) return set?.access;
    const now = this.#options.clock.now();
    const life = set.ends - set.had;
    if (now >= set.had + Math.max(life / 2, life - lastMs))
      return set.refresh === undefined ? undefined : (await this.#refresh(set))?.access;
    if (set.refresh !== undefined && now >= set.ends - Math.min(renewMs, life * renewShare)) {
      this.#refresh(set).catch((error: unknown) =>
        this.#options.log.warn('The token of a person cannot be renewed yet', { error: messageOf(error) }),
      );
    }
    return set.access;
  }

  async renew(challenge: Challenge, refused: string | undefined): Promise<string | undefined> {
    const set = this.#set;
    if (set !== undefined && set.access !== refused) return set.access;
    if (challenge.status === 403 && challenge.scopes.every((scope) => this.#asked.has(scope)))
      return undefined;
    this.#metadata = challenge.metadata ?? this.#metadata;
    this.#named = challenge.scopes;
    if (challenge.status === 401) {
      // Where the server now trusts another authorization server, its metadata say so.
      this.#place = undefined;
      this.#places.forget();
      const next = set?.refresh === undefined ? undefined : await this.#refresh(set);
      if (next !== undefined) return next.access;
    }
    const { visit } = this.#options;
    if (visit === undefined) {
      if (challenge.status === 401) this.#isOver = true;
      else this.#wantsMore = true;
      throw loginNeeded(this.#options.url);
    }
    this.#visiting ??= this.#visit(visit).finally(() => {
      this.#visiting = undefined;
    });
    return (await this.#visiting).access;
  }

  giveUp(_refused: string | undefined, error: AgentServerError): void {
    this.#fail(error);
  }

  served(): void {
    this.#failed = undefined;
  }

  /** Where the person has to go. Throws as discovery and registration do. */
  async begin({ redirectUri, document }: Return): Promise<BegunLogin> {
    const { url, issuer, clientId, fetch, scopes: named, clients } = this.#options;
    const place = await this.#find();
    const client = await clients.at(place.server, { url, issuer, clientId, redirectUri, document, fetch });
    if (this.#set !== undefined && this.#set.client.issuer !== place.server.issuer) this.#asked = new Set();
    const scopes = chooseScopes(named, this.#named, this.#asked, place);
    return beginLogin(place, client, scopes, this.#options);
  }

  async finish(begun: BegunLogin, answer: URLSearchParams): Promise<TokenSet> {
    const set = await finishLogin(begun, answer, this.#options).catch((error: unknown) => {
      // The next login registers anew. What the address of the answer says anybody can write.
      if (knowsNoClient(error)) this.#options.clients.forget(begun.client);
      throw error;
    });
    this.#asked = new Set([...begun.scopes, ...this.#named]);
    this.#use(set);
    return set;
  }

  /** The tokens are forgotten here at once, and at the authorization server as far as that can be reached. */
  async end(): Promise<void> {
    const set = this.#set;
    this.#use(undefined);
    if (set === undefined) return;
    try {
      await revokeTokens(await this.#find(), set, this.#options);
    } catch (error) {
      this.#options.log.warn('Tokens could not be revoked', { error: messageOf(error) });
    }
  }

  async #find(): Promise<TokenPlace> {
    this.#place ??= await this.#places.find(this.#metadata);
    return this.#place;
  }

  async #visit({ follow, ...back }: Visit): Promise<TokenSet> {
    const failed = this.#failed;
    if (failed !== undefined && this.#options.clock.monotonic() < failed.notBefore) throw failed.error;
    try {
      const begun = await this.begin(back);
      return await this.finish(begun, (await follow(begun.url)).searchParams);
    } catch (error) {
      this.#fail(error);
      throw error;
    }
  }

  #fail(error: unknown): void {
    const count = (this.#failed?.count ?? 0) + 1;
    const notBefore = this.#options.clock.monotonic() + backoffDelay(again, count, 0);
    this.#failed = { error, count, notBefore };
  }

  #use(set: TokenSet | undefined): void {
    this.#set = set;
    this.#isOver = false;
    this.#wantsMore = false;
    this.#options.keep?.(set);
  }

  /** Undefined: there will be none without a login. One request for all who wait. */
  #refresh(old: TokenSet): Promise<TokenSet | undefined> {
    this.#refreshing ??= this.#refreshOnce(old).finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  /**
   * Nothing else ends a login: with another proof of the client, or later, the same refresh token is good. Only a
   * registration that the server has lost is not to be mended by anybody.
   */
  #isForGood({ client }: TokenSet, error: unknown): boolean {
    if (error instanceof ServerSaysNo && error.said === 'invalid_grant') return true;
    const isLost = client.origin === 'registered' && knowsNoClient(error);
    if (isLost) this.#options.clients.forget(client);
    return isLost;
  }

  async #refreshOnce(old: TokenSet): Promise<TokenSet | undefined> {
    const place = await this.#find();
    // A refresh token is shown to nobody but who gave it.
    if (place.server.issuer !== old.client.issuer || place.resource !== old.resource) return undefined;
    try {
      const set = await refreshTokens(place, old, this.#options);
      if (this.#set === old) this.#use(set);
      return this.#set;
    } catch (error) {
      if (!this.#isForGood(old, error)) throw error;
      if (this.#set === old) this.#use(undefined);
      return undefined;
    }
  }
}

export function loginNeeded({ host }: URL): AgentServerError {
  return new AgentServerError('UpstreamLoginNeeded', `${host} wants the caller to log in`);
}
