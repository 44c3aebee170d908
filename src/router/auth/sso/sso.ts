import { messageOf } from '#kit/errors.ts';
import { beginLogin } from './begin.ts';
import { endLogin, revokeLogin } from './end.ts';
import { refusalOf } from './failures.ts';
import { finishLogin, pendingLogin, renewLogin } from './finish.ts';
import type { Flow } from './flow.ts';

/** Everything throws or rejects with AuthRefused. */
export type Sso = ReturnType<typeof createSso>;

/**
 * OpenID Connect's authorization code flow with PKCE (S256), state, nonce and `iss`. The router keeps nothing: what it must
 * know again is sealed in cookies that go to the login pages alone.
 */
export function createSso(flow: Flow) {
  return {
    begin: explained(flow, beginLogin),
    finish: explained(flow, finishLogin),
    renew: explained(flow, renewLogin),
    end: explained(flow, endLogin),
    /** Never rejects. */
    revoke: (...args: Rest<Parameters<typeof revokeLogin>>) => revokeLogin(flow, ...args),
    pending: (...args: Rest<Parameters<typeof pendingLogin>>) => pendingLogin(flow, ...args),
  };
}

type Rest<Args extends readonly unknown[]> = Args extends readonly [unknown, ...infer Others]
  ? Others
  : never;

/** The cause of a failure is for the log; people are told what they can do. */
function explained<Args extends readonly unknown[], Result>(
  flow: Flow,
  step: (flow: Flow, ...args: Args) => Promise<Result>,
): (...args: Args) => Promise<Result> {
  return async (...args) => {
    try {
      return await step(flow, ...args);
    } catch (error) {
      const refused = refusalOf(error);
      const cause = refused.cause === undefined ? undefined : messageOf(refused.cause);
      flow.log.warn('a login at a provider failed', { error: refused.code, cause });
      throw refused;
    }
  };
}
