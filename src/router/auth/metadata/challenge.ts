import type { IncomingMessage } from 'node:http';
import type { Access } from '#routing/access.ts';
import type { AuthSettings } from '../settings.ts';
import { resourceOf } from './resource.ts';

/** Where the metadata of protected resources is (RFC 9728); the resource's own path follows. */
export const metadataPath = '/.well-known/oauth-protected-resource';

/** What a challenge tells a client that could come with a token: where it finds the issuers, and what to ask for. */
export function challengeParameters(
  settings: Pick<AuthSettings, 'publicOrigin'>,
  request: IncomingMessage,
  asking: Access,
): Readonly<Record<string, string>> {
  if (asking.issuers.length === 0) return {};
  const { origin, path } = resourceOf(request, settings);
  const scopes = neededScopes(asking);
  return {
    resource_metadata: `${origin}${metadataPath}${path === '/' ? '' : path}`,
    ...(scopes.length > 0 && { scope: scopes.join(' ') }),
  };
}

/** What every call needs, whoever issued the token. */
export function neededScopes({ issuers }: Access): readonly string[] {
  return [...new Set(issuers.flatMap(({ scopes = [] }) => scopes))];
}
