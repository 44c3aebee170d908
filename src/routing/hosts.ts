import type { Surface } from './surface.ts';
import type { Verdict } from './verdict.ts';

export interface HostRules {
  /** Namespace whose agents appear without any Route; undefined: none. On a laptop: the workspace's. */
  readonly homeNamespace: string | undefined;
  /** Hosts that a namespace may claim, exact or `*.name`, `*` for any. The home namespace may claim every host. */
  readonly hostClaims: Readonly<Record<string, readonly string[]>>;
}

/** Why a namespace may not have these surfaces where they want to be; undefined: it may. */
export function hostRefusal(
  namespace: string,
  surfaces: readonly Surface[],
  rules: HostRules,
): Verdict | undefined {
  const foreign = surfaces.find(({ place }) => !mayClaim(namespace, place.host, rules));
  if (foreign === undefined) return undefined;
  const { host } = foreign.place;
  const every = host === '*' ? ' (no host in spec.hosts means every host)' : '';
  const message = `spec.hosts: namespace ${namespace} may not claim host "${host}"${every}. ${remedyOf(rules.hostClaims[namespace] ?? [])}`;
  return { ok: false, reason: 'HostNotAllowed', message };
}

function remedyOf(claims: readonly string[]): string {
  const administrator = 'the administrator can let it claim more: hostClaims of the chart';
  return claims.length === 0
    ? `It may claim none; ${administrator}.`
    : `Name one of ${claims.join(', ')}; ${administrator}.`;
}

function mayClaim(namespace: string, host: string, { homeNamespace, hostClaims }: HostRules): boolean {
  if (namespace === homeNamespace) return true;
  const claims = hostClaims[namespace] ?? [];
  return claims.some((claim) => claim === '*' || claim === host || coversHost(claim, host));
}

/** `*.example.org` covers `a.example.org` and `*.a.example.org`. */
function coversHost(claim: string, host: string): boolean {
  if (!claim.startsWith('*.')) return false;
  const bare = host.startsWith('*.') ? host.slice(2) : host;
  return bare.endsWith(claim.slice(1));
}
