import type { Services } from '../services.ts';
import { createKeyAuthenticator } from './api-keys.ts';
import type { Authenticator } from './authenticator.ts';
import { createBearerAuthenticator } from './bearer/authenticator.ts';
import { createIssuerKeys } from './bearer/issuer-keys.ts';
import { createDiscovery } from './outgoing/discover.ts';
import { createOutgoing } from './outgoing/fetch.ts';

/** All ways to show who one is, in the order in which they are asked. */
export function createAuthenticators(services: Services): readonly Authenticator[] {
  const { clock, auth } = services;
  const { resolve, ...rules } = auth.providers;
  const outgoing = createOutgoing({ rules, clock, resolve });
  const keys = createIssuerKeys(outgoing, createDiscovery(outgoing, clock), clock);
  const session: Authenticator = {
    identify(request, access, response) {
      if (response !== undefined) return services.logins.identify(request, access, response);
      return access.mode === 'none' ? undefined : services.logins.find(request, access.realm)?.identity;
    },
  };
  return [session, createKeyAuthenticator(services.people, clock), createBearerAuthenticator(services, keys)];
}
