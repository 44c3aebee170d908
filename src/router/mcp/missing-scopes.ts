import type { AllowedKind } from '#routing/allow.ts';
import type { LimitedItem } from '#routing/limits.ts';
import type { McpSurface } from '#routing/surface.ts';
import type { AuthRefused } from '../auth/authenticator.ts';
import { insufficientScope } from '../auth/bearer/refusals.ts';

/**
 * What a caller is told who may not use an item only because their token has too few scopes; undefined for anybody
 * else, to whom it is not there.
 */
export function missingScopes(
  { limits }: McpSurface,
  kind: AllowedKind,
  item: LimitedItem | undefined,
): AuthRefused | undefined {
  if (limits === undefined || item === undefined) return undefined;
  const scopes = limits.scopesFor(kind, item);
  return scopes && insufficientScope(scopes, limits.held);
}
