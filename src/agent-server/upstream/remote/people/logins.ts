import type { UpstreamLoginAnswer, UpstreamLoginRequest } from '#wire/upstream-login.ts';
import type { People } from './people.ts';

/** Logs people in and out. */
export type Logins = (user: string, request: UpstreamLoginRequest) => Promise<UpstreamLoginAnswer>;

export interface LoginsOptions {
  readonly people: People;
  readonly host: string;
  readonly changed: (user: string) => Promise<void>;
}

/** Throws UpstreamUnauthorized, UpstreamNotAllowed, UpstreamLost or UpstreamTimeout. */
export function createLogins({ people, host, changed }: LoginsOptions): Logins {
  return async (user, request) => {
    const person = people.get(user);
    const state = () => ({ host, isLoggedIn: person.tokens.isLoggedIn });
    switch (request.action) {
      case 'look':
        return { host, isLoggedIn: person.tokens.isLoggedIn && !person.tokens.wantsMore };
      case 'begin': {
        const { redirectUri, document } = request;
        const url = await person.begin({ redirectUri, document });
        return { ...state(), url: url.href };
      }
      case 'finish':
        await person.finish(new URLSearchParams(request.query));
        await changed(user);
        return state();
      case 'end':
        await person.tokens.end();
        await changed(user);
        return state();
    }
  };
}
