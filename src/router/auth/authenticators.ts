import type { Services } from '../services.ts';
import type { Authenticator } from './authenticator.ts';

/** All ways to show who one is, in the order in which they are asked. */
export function createAuthenticators(_services: Services): readonly Authenticator[] {
  return [];
}
