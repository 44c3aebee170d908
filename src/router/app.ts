import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import { createGuard } from './guard.ts';
import { rewriteUrl } from './paths.ts';
import { agentMcpPlugin } from './plugins/agent-mcp/plugin.ts';
import { healthPlugin } from './plugins/health/plugin.ts';
import { mcpPlugin } from './plugins/mcp/plugin.ts';
import { factsOf } from './request.ts';
import { createServices, type Services, type ServicesOptions } from './services.ts';

export interface RouterOptions extends ServicesOptions {
  /** Host names besides the loopback's that the router answers for, exact or `*.name`. Default: none. */
  readonly allowedHosts?: readonly string[];
  /** Origins of web pages besides its own hosts that may call it. Default: none. */
  readonly allowedOrigins?: readonly string[];
  /** Ports at which the loopback names count. Default: any. */
  readonly ports?: () => readonly number[] | undefined;
}

export interface Router {
  readonly app: FastifyInstance;
  readonly services: Services;
}

/** The router without any listener: `app.inject` in tests, `startRouter` for sockets. */
export function buildRouter(options: RouterOptions): Router {
  const services = createServices(options);
  const guard = createGuard({
    tables: options.tables,
    allowedHosts: options.allowedHosts ?? [],
    allowedOrigins: options.allowedOrigins ?? [],
    ports: options.ports ?? (() => undefined),
  });
  const app = fastify({
    logger: false,
    bodyLimit: services.limits.bodyBytes,
    requestTimeout: services.limits.requestTimeoutMs,
    rewriteUrl: (request) => rewriteUrl(request, services.resolve),
    genReqId: () => services.random.bytes(8).toString('hex'),
    forceCloseConnections: false,
    return503OnClosing: true,
    exposeHeadRoutes: false,
  });
  app.addHook('onRequest', async (request, reply) => {
    const refused = guard(request.raw);
    if (refused !== undefined) return reply.code(403).send({ error: refused });
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (_, body, done) => done(null, body));
  app.setErrorHandler((error, request, reply) => answerError(services, error as Error, request, reply));
  app.setNotFoundHandler((_, reply) => reply.code(404).type('text/plain').send('Not Found'));
  logRequests(app, services);
  app.register(healthPlugin, { services });
  app.register(mcpPlugin, { services });
  app.register(agentMcpPlugin, { services });
  app.addHook('onClose', () => services.close());
  return { app, services };
}

/** What fastify itself found: a body too long, of another type, cut short. */
function answerError(services: Services, error: Error, request: FastifyRequest, reply: FastifyReply): void {
  const status = 'statusCode' in error && typeof error.statusCode === 'number' ? error.statusCode : 500;
  if (status >= 500) services.log.error('a request failed', { id: request.id, error });
  const message = status >= 500 ? 'internal error' : error.message;
  if (status === 413) reply.header('connection', 'close');
  reply.code(status).send({ error: message });
}

/** One line a request: what was asked and how it went, never a header, a query or a body. */
function logRequests(app: FastifyInstance, services: Services): void {
  app.addHook('onResponse', async (request, reply) => {
    const { path, resolution } = factsOf(request.raw);
    services.log.info('request', {
      id: request.id,
      method: request.method,
      path,
      surface: resolution.kind,
      status: reply.raw.statusCode,
      ms: Math.round(reply.elapsedTime * 10) / 10,
    });
  });
}
