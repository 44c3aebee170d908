import type { IncomingMessage } from 'node:http';
import type { Access } from '#routing/access.ts';
import { surfacesAt } from '#routing/resolve.ts';
import { hasName } from '#routing/sorted-names.ts';
import { factsOf } from '../request.ts';
import type { Services } from '../services.ts';
import type { LoginSession } from './sessions.ts';

/**
 * Which Access a page below /auth is about: what asks at `returnTo`, or at the agent that is named, else what asks
 * anywhere at the host. Of several the one that `isFirst` holds for goes first.
 */
export function askedAccess(
  services: Pick<Services, 'tables' | 'resolve'>,
  request: IncomingMessage,
  { returnTo, agent }: { readonly returnTo?: string | undefined; readonly agent?: string | null | undefined },
  isFirst: (access: Access) => boolean,
): Access | undefined {
  const { host } = factsOf(request);
  const paths = [
    ...(returnTo === undefined || returnTo === '/' ? [] : [returnTo.split(/[?#]/)[0] ?? '/']),
    ...(agent ? [`/mcps/${agent}/mcp`] : []),
  ];
  const asked = paths.flatMap((path) => accessesOf(services, host, path));
  const all = asked.length > 0 ? asked : accessesAt(services, host);
  return all.find(isFirst) ?? all[0];
}

/** Every session that a request shows for what asks at its host, each once. */
export function sessionsShown(
  services: Pick<Services, 'tables' | 'logins'>,
  request: IncomingMessage,
): LoginSession[] {
  const realms = new Set(accessesAt(services, factsOf(request).host).map(({ realm }) => realm));
  return [...realms].flatMap((realm) => services.logins.find(request, realm)?.session ?? []);
}

function accessesOf(
  { resolve, tables }: Pick<Services, 'tables' | 'resolve'>,
  host: string,
  path: string,
): Access[] {
  const resolution = resolve(host, path);
  const surface = 'surface' in resolution ? resolution.surface : undefined;
  const target = 'target' in resolution ? resolution.target : undefined;
  const below = resolution.kind === 'mcp' ? guardedOf(tables, resolution.surface) : [];
  return asking([surface?.access, target?.access, ...below]);
}

function accessesAt({ tables }: Pick<Services, 'tables'>, host: string): Access[] {
  const surfaces = surfacesAt(tables.current(), host);
  return asking([
    ...surfaces.map(({ access }) => access),
    ...surfaces.flatMap((surface) => guardedOf(tables, surface)),
  ]);
}

function guardedOf(
  tables: Services['tables'],
  { namespace, agents }: { readonly namespace: string; readonly agents: readonly string[] },
): Access[] {
  const { guarded } = tables.current();
  return [...guarded].flatMap(([key, access]) => {
    const slash = key.indexOf('/');
    return key.slice(0, slash) === namespace && hasName(agents, key.slice(slash + 1)) ? [access] : [];
  });
}

function asking(accesses: readonly (Access | undefined)[]): Access[] {
  return accesses.filter((access) => access !== undefined && access.mode !== 'none') as Access[];
}
