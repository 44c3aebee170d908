import { AgentServerError } from '#agent-server/errors.ts';
import type { Clock } from '#kit/clock.ts';
import type { BegunLogin } from '../login/flow.ts';
import type { LoginTokens, Return } from '../login/login-tokens.ts';

/** How long, in milliseconds, somebody may take to log in, and how many logins one person has begun at once. */
const patienceMs = 10 * 60_000;
const mostBegun = 5;

/** One person: tokens, and logins that have begun. */
export interface Person {
  readonly tokens: LoginTokens;
  /** Where the person has to go. */
  begin(back: Return): Promise<URL>;
  /** Takes what the person came back with. Throws UpstreamUnauthorized, also when this person has begun no such login. */
  finish(answer: URLSearchParams): Promise<void>;
  /** A login has begun and has not ended. */
  readonly isAway: boolean;
  /** Something is connected with the tokens. */
  isUsed: boolean;
}

interface Away {
  readonly login: BegunLogin;
  readonly until: number;
}

export function createPerson(tokens: LoginTokens, clock: Clock): Person {
  const away = new Map<string, Away>();

  function forgetLate(): void {
    for (const [state, { until }] of away) if (clock.monotonic() >= until) away.delete(state);
  }
  return {
    isUsed: false,
    tokens,
    async begin(back) {
      const login = await tokens.begin(back);
      forgetLate();
      away.set(login.state, { login, until: clock.monotonic() + patienceMs });
      const [oldest] = away.size > mostBegun ? away.keys() : [];
      if (oldest !== undefined) away.delete(oldest);
      return login.url;
    },
    async finish(answer) {
      forgetLate();
      const state = answer.get('state') ?? '';
      const found = away.get(state);
      // Once: a code that comes a second time came to somebody else first.
      away.delete(state);
      if (found === undefined) {
        throw new AgentServerError(
          'UpstreamUnauthorized',
          'This is not the answer to a login that you began here. Begin again.',
        );
      }
      await tokens.finish(found.login, answer);
    },
    get isAway() {
      forgetLate();
      return away.size > 0;
    },
  };
}
