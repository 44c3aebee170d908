import type { Agent } from '#api/agent.ts';
import { routeResource } from '#api/resources.ts';
import type { Route } from '#api/route.ts';
import type { Client } from '#kube/client.ts';
import { isForbidden } from '#kube/errors.ts';

/**
 * Whether one of the Agents, or a Route beside them, lets people in by single sign-on. Undefined: none of the Agents
 * does, and the caller may not look at Routes.
 */
export async function readSso(
  client: Pick<Client, 'list'>,
  where: { readonly namespace?: string },
  agents: readonly Agent[],
): Promise<boolean | undefined> {
  if (agents.some(isSso)) return true;
  try {
    return (await client.list<Route>(routeResource, where)).items.some(isSso);
  } catch (error) {
    if (isForbidden(error)) return undefined;
    throw error;
  }
}

/** The line of `status`; none for what is not known. */
export function ssoLines(sso: boolean | undefined): string[] {
  return sso === undefined ? [] : [`- SSO: ${sso ? 'enabled' : 'disabled'}`];
}

function isSso({ spec }: Agent | Route): boolean {
  return spec.auth?.mode === 'sso';
}
