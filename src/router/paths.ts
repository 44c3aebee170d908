import type { IncomingMessage } from 'node:http';
import type { Resolution, Resolver } from '#routing/resolve.ts';
import { authPaths } from './auth/auth-paths.ts';
import { metadataPath } from './auth/metadata/challenge.ts';
import { knownFacts, type RequestFacts, rememberFacts, splitHost } from './request.ts';

/**
 * Surfaces appear wherever the table says; each plugin listens at one path of its own, which no client can
 * ask for: every URL that comes in is turned into one of these before anything looks at it.
 */
export const internalPaths = {
  mcp: '/~mcp',
  'agent-mcp': '/~agent-mcp',
  'agent-task': '/~agent-task',
  'agent-other': '/~agent-other',
  'unknown-agent': '/~unknown-agent',
  api: '/~api',
  'upstream-login': '/~upstream-login',
  'upstream-client': '/~upstream-client',
  blobs: '/~blobs',
  static: '/~static',
  landing: '/~landing',
  none: '/~none',
  auth: '/~auth',
} as const;

/** What waits and runs at agents, and how one task does. No agent's files are below `/.ploinky`. */
export const queuesPath = '/.ploinky/queues';
export const taskPath = '/.ploinky/task';

/** Paths that are the same on every host. */
const fixed = new Set(['/health', '/ready', '/metrics', '/MCPBrowserClient.js', queuesPath, taskPath]);

const nothing: Resolution = { kind: 'none' };

/** Finds out what a request asks for, once, and which plugin answers it. */
export function resolveRequest(request: IncomingMessage, resolve: Resolver): RequestFacts {
  const known = knownFacts(request);
  if (known !== undefined) return known;
  const url = request.url ?? '/';
  const question = url.indexOf('?');
  const path = question < 0 ? url : url.slice(0, question);
  const search = question < 0 ? '' : url.slice(question);
  const asked = splitHost(request.headers.host);
  const host = asked?.host ?? '';
  const isMetadata = path.startsWith(metadataPath) && /^(\/|$)/.test(path.slice(metadataPath.length));
  const isAuth = authPaths.has(path);
  // Whatever a surface has there is never served, so that what its agent asks must not count either.
  const isOwn = isMetadata || isAuth || fixed.has(path);
  const resolution = path.startsWith('/') && !isOwn ? resolve(host, path) : nothing;
  const internal = isMetadata ? metadataPath : isAuth ? internalPaths.auth : internalPath(path, resolution);
  return rememberFacts(request, { host, port: asked?.port, path, search, resolution, internal });
}

function internalPath(path: string, { kind }: Resolution): string {
  if (fixed.has(path)) return path;
  if (kind === 'none') return path === '/' ? internalPaths.landing : internalPaths.none;
  return internalPaths[kind];
}
