import type { IncomingMessage } from 'node:http';
import { loginOriginHeader } from '#wire/upstream-login.ts';
import { resourceAt } from '../../auth/metadata/resource.ts';
import type { AuthSettings } from '../../auth/settings.ts';
import { knownCaller } from '../../caller.ts';
import { factsOf, isFromAgent } from '../../request.ts';

/**
 * Tells agents at what address of the router somebody who is known can log in, should they have to. What a client says of it
 * itself goes no further.
 */
export function offerLogin(request: IncomingMessage, settings: Pick<AuthSettings, 'publicOrigin'>): void {
  const { headers } = request;
  const user = knownCaller(request)?.user ?? undefined;
  // What runs inside a workload reaches the router by a name that is none for a browser.
  const origin = isFromAgent(request)
    ? settings.publicOrigin
    : user && resourceAt(request, settings, factsOf(request), '/').origin;
  if (user !== undefined && origin !== undefined) headers[loginOriginHeader] = origin;
  else if (headers[loginOriginHeader] !== undefined) delete headers[loginOriginHeader];
}
