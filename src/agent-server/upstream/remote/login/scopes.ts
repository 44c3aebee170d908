import type { TokenPlace } from '../discovery.ts';

const lasting = 'offline_access';

/**
 * What to ask for: what the spec names and nothing else; or what the server asked for, else what its metadata name,
 * together with what was asked for before, and tokens that last where there are such. Empty: no scope is sent.
 */
export function chooseScopes(
  named: readonly string[] | undefined,
  asked: Iterable<string>,
  before: Iterable<string>,
  { scopes, server }: TokenPlace,
): string[] {
  if (named !== undefined) return [...named];
  const wanted = [...asked];
  const chosen = new Set([...before, ...(wanted.length > 0 ? wanted : scopes)]);
  if (chosen.size > 0 && server.scopes_supported?.includes(lasting) === true) chosen.add(lasting);
  return [...chosen];
}
