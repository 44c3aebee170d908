import type { IncomingMessage } from 'node:http';
import type { RoutingTable } from '#routing/table.ts';
import { type HostAndPort, isFromAgent, splitHost } from './request.ts';
import type { TableSource } from './sources.ts';

export interface GuardOptions {
  readonly tables: TableSource;
  /** Host names besides the loopback's, exact or `*.name`, without port. */
  readonly allowedHosts: readonly string[];
  /** Origins besides those whose host is allowed, as browsers send them: `https://app.example.org`. */
  readonly allowedOrigins: readonly string[];
  /** Ports at which the loopback names count; undefined: any. */
  readonly ports: () => readonly number[] | undefined;
}

/** Why a request is refused before anything else is done with it, or undefined. */
export type Guard = (request: IncomingMessage) => string | undefined;

/**
 * Refuses requests that a browser was tricked into (DNS rebinding, cross-site posts): the Host must be a name
 * that this router answers for, also on the loopback, and an Origin, when there is one, must be such a host too.
 * Hosts that accepted Routes claim are among them, and so is the very address that the request came to, which
 * is all that a prober knows and no name that was bound anew can be.
 */
export function createGuard(options: GuardOptions): Guard {
  let surfaces: RoutingTable['surfaces'] = [];
  const configured = options.allowedHosts.map((host) => host.toLowerCase());
  let patterns: readonly string[] = configured;

  function isAllowed({ host, port }: HostAndPort, anyPort: boolean): boolean {
    if (isLoopback(host)) {
      const ports = anyPort ? undefined : options.ports();
      return ports === undefined || ports.includes(port ?? 80);
    }
    const now = options.tables.current();
    if (now.surfaces !== surfaces) {
      surfaces = now.surfaces;
      const routed = surfaces.map(({ place }) => place.host).filter((pattern) => pattern !== '*');
      patterns = [...new Set([...configured, ...routed])];
    }
    return patterns.some((pattern) => matches(pattern, host));
  }

  return (request) => {
    const asked = splitHost(request.headers.host);
    const inside = isFromAgent(request);
    if (asked === undefined) return 'host not allowed';
    if (!isAllowed(asked, inside) && !isOwnAddress(request, asked)) return 'host not allowed';
    const { origin } = request.headers;
    if (origin === undefined || options.allowedOrigins.includes(origin)) return undefined;
    const from = /^https?:\/\/([^/?#@]+)$/.exec(origin)?.[1];
    const source = splitHost(from);
    if (source !== undefined && (isAllowed(source, inside) || isOwnAddress(request, source)))
      return undefined;
    return 'origin not allowed';
  };
}

function isOwnAddress({ socket }: IncomingMessage, at: HostAndPort): boolean {
  const local = socket.localAddress?.replace(/^::ffff:/, '');
  if (
    local === undefined ||
    local === '::1' ||
    local.startsWith('127.') ||
    (at.port ?? 80) !== socket.localPort
  )
    return false;
  return at.host === (local.includes(':') ? `[${local}]` : local);
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '127.0.0.1' || host === '[::1]';
}

function matches(pattern: string, host: string): boolean {
  return pattern === host || (pattern.startsWith('*.') && host.endsWith(pattern.slice(1)));
}
