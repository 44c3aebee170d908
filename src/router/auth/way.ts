import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Access } from '#routing/access.ts';
import type { LoginSession } from './sessions.ts';

export interface WayExchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** `http(s)://host[:port]` as browsers see the router. */
  readonly origin: string;
}

/** How people of another mode than pwd and guest log in. Whatever rejects with AuthRefused becomes a page. */
export interface LoginWay {
  /** GET /auth/login: answers, mostly with a redirect; `returnTo` is a path of ours. */
  begin(exchange: WayExchange, access: Access, returnTo: string): Promise<void>;
  /** GET /auth/callback: finds out which realm it is for, begins the session and redirects. */
  callback(exchange: WayExchange): Promise<void>;
  /**
   * What goes on with a login without the person ends, whether its session is still there or not, and whether the
   * provider hears of it or not. Before the head of the answer is written.
   */
  forget(exchange: WayExchange): Promise<void>;
  /** The session ends here in any case; the answer is where to send the browser so that it ends at the provider too. */
  logoutUrl(exchange: WayExchange, session: LoginSession): Promise<string | undefined>;
}
