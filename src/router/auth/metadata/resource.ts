import type { IncomingMessage } from 'node:http';
import { surfacesAt } from '#routing/resolve.ts';
import { factsOf, type RequestFacts } from '../../request.ts';
import type { Services } from '../../services.ts';
import type { AuthSettings } from '../settings.ts';

/** What a token must be for (RFC 8707, RFC 9728): the endpoint as clients write it. */
export interface Resource {
  /** `http://127.0.0.1:8080/mcp` */
  readonly url: string;
  readonly origin: string;
  /** Without the origin; begins with "/". */
  readonly path: string;
  /**
   * False where nothing but the client's word says that the URL leads here: a token that another server was given for
   * its own URL would count. Then an issuer's `audiences` have to be written down.
   */
  readonly isOwn: boolean;
}

type Settings = Pick<AuthSettings, 'publicOrigin'>;

/** The endpoint that a request asks. */
export function resourceOf(request: IncomingMessage, settings: Settings): Resource {
  const facts = factsOf(request);
  return resourceAt(request, settings, facts, endpointPath(facts));
}

/** As if the request asked what `facts` say, at `path`. */
export function resourceAt(
  request: IncomingMessage,
  { publicOrigin }: Settings,
  { host, port, resolution }: Pick<RequestFacts, 'host' | 'port' | 'resolution'>,
  path: string,
): Resource {
  const claimed = 'surface' in resolution ? resolution.surface?.place.host : undefined;
  const isNamed = claimed !== undefined && claimed === host;
  const origin = originAt({ host, port, isClaimed: isNamed }, { publicOrigin });
  const isOwn = isNamed || publicOrigin !== undefined || isLoopbackHere(request, host, port);
  return { url: `${origin}${path}`, origin, path, isOwn };
}

/** What browsers see at the host that a request asks, whatever it asks there. */
export function originFor(
  { auth, tables }: Pick<Services, 'auth' | 'tables'>,
  request: IncomingMessage,
): string {
  const { host, port } = factsOf(request);
  const isClaimed = surfacesAt(tables.current(), host).some(({ place }) => place.host === host);
  return originAt({ host, port, isClaimed }, auth);
}

interface Asked {
  readonly host: string;
  readonly port: number | undefined;
  /** A Route has this very host. */
  readonly isClaimed: boolean;
}

/** What clients see. A host that a Route claims is reached as the router is: at the same port, by https where that is. */
function originAt({ host, port, isClaimed }: Asked, { publicOrigin }: Settings): string {
  if (publicOrigin === undefined) return `http://${host}${port === undefined ? '' : `:${port}`}`;
  if (!isClaimed) return publicOrigin;
  const url = new URL(publicOrigin);
  return `${url.protocol}//${host}${url.port === '' ? '' : `:${url.port}`}`;
}

function isLoopbackHere({ socket }: IncomingMessage, host: string, port: number | undefined): boolean {
  const isLoopback = host === 'localhost' || host === '127.0.0.1' || host === '[::1]';
  return isLoopback && socket.localPort === (port ?? 80);
}

/** What is asked, without what an agent itself looks at. */
export function endpointPath({ path, resolution }: Pick<RequestFacts, 'path' | 'resolution'>): string {
  if (resolution.kind !== 'api' && resolution.kind !== 'static') return path;
  const { rest } = resolution;
  const whole = path.endsWith(rest) ? path.slice(0, path.length - rest.length) : path;
  return whole === '' ? '/' : whole;
}
