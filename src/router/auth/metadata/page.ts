import type { IncomingMessage } from 'node:http';
import type { Access, AllowRule } from '#routing/access.ts';
import type { Resolution } from '#routing/resolve.ts';
import { type Page, writeNotFound, writeText } from '../../page.ts';
import { factsOf } from '../../request.ts';
import type { Services } from '../../services.ts';
import { metadataPath, neededScopes } from './challenge.ts';
import { endpointPath, resourceAt } from './resource.ts';

type Needs = Pick<Services, 'auth' | 'resolve' | 'tables'>;

/**
 * What MCP clients ask after a 401 (RFC 9728): whose tokens count at an endpoint. Its path follows the well-known one;
 * without a path it is the endpoint of all agents. Read by browsers of any origin: it tells nothing secret.
 */
export function metadataPage(services: Needs): Page {
  return {
    at: metadataPath,
    methods: ['GET', 'HEAD', 'OPTIONS'],
    serve(request, response) {
      const found = describe(services, request);
      const headers = { 'access-control-allow-origin': '*', 'access-control-allow-headers': '*' };
      if (found === undefined) return writeNotFound(response);
      const about = { ...headers, 'content-type': 'application/json', 'cache-control': 'max-age=60' };
      writeText(response, 200, `${JSON.stringify(found)}\n`, about);
    },
  };
}

function describe(services: Needs, request: IncomingMessage): object | undefined {
  const { host, port, path } = factsOf(request);
  const asked = path.slice(metadataPath.length).replace(/\/$/, '');
  const at = asked === '' ? '/mcp' : asked;
  const resolution = services.resolve(host, at);
  const accesses = accessesOf(services, resolution).filter(({ issuers }) => issuers.length > 0);
  if (accesses.length === 0) return undefined;
  const place = endpointPath({ path: at, resolution });
  const { url } = resourceAt(request, services.auth, { host, port, resolution }, place);
  const scopes = [...new Set(accesses.flatMap((access) => [...neededScopes(access), ...toolScopes(access)]))];
  return {
    resource: url,
    authorization_servers: [
      ...new Set(accesses.flatMap(({ issuers }) => issuers.map((issuer) => issuer.url))),
    ],
    bearer_methods_supported: ['header'],
    ...(scopes.length > 0 && { scopes_supported: scopes }),
  };
}

function accessesOf({ tables }: Needs, resolution: Resolution): readonly Access[] {
  const ofRoute = 'surface' in resolution ? resolution.surface?.access : undefined;
  const ofAgent = 'target' in resolution ? resolution.target.access : undefined;
  const ofAgents = resolution.kind === 'mcp' ? agentsOf(tables, resolution.surface) : [];
  return [ofRoute, ofAgent, ...ofAgents].filter((access) => access !== undefined);
}

function agentsOf(
  tables: Needs['tables'],
  { namespace, agents }: { readonly namespace: string; readonly agents: readonly string[] },
): readonly (Access | undefined)[] {
  const { guarded } = tables.current();
  if (guarded.size === 0) return [];
  return agents.map((name) => guarded.get(`${namespace}/${name}`));
}

function toolScopes({ allow = [] }: Access): readonly string[] {
  return allow.flatMap(({ scopes = [] }: AllowRule) => scopes);
}
