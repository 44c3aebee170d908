import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import type { Registry } from 'prom-client';
import type { Log } from '#kit/log.ts';
import { createGuard } from './guard.ts';
import { createRouterMetrics, type RouterMetrics } from './metrics.ts';
import { rewriteUrl } from './paths.ts';
import { agentMcpPlugin } from './plugins/agent-mcp/plugin.ts';
import { apiPlugin } from './plugins/api/plugin.ts';
import { browserClientPlugin } from './plugins/browser-client/plugin.ts';
import { healthPlugin } from './plugins/health/plugin.ts';
import { landingPlugin } from './plugins/landing/plugin.ts';
import { mcpPlugin } from './plugins/mcp/plugin.ts';
import { metricsPlugin } from './plugins/metrics/plugin.ts';
import { staticPlugin } from './plugins/static/plugin.ts';
import { taskPlugin } from './plugins/task/plugin.ts';
import { factsOf } from './request.ts';
import { createServices, type Services, type ServicesOptions } from './services.ts';

export interface RouterOptions extends ServicesOptions {
  /** Host names besides the loopback's that the router answers for, exact or `*.name`. Default: none. */
  readonly allowedHosts?: readonly string[];
  /** Origins of web pages besides its own hosts that may call it. Default: none. */
  readonly allowedOrigins?: readonly string[];
  /** Ports at which the loopback names count. Default: any. */
  readonly ports?: () => readonly number[] | undefined;
  /** Where the line of each request goes. Default: `log`. */
  readonly accessLog?: Log;
  /** Where metrics go. Default: a registry of the router's own. */
  readonly registry?: Registry;
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
    genReqId: countRequests(services),
    forceCloseConnections: false,
    return503OnClosing: true,
    exposeHeadRoutes: false,
  });
  app.addHook('onRequest', (request, reply, done) => {
    const refused = guard(request.raw);
    if (refused === undefined) done();
    else reply.code(403).send({ error: refused });
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (_, body, done) => done(null, body));
  app.setErrorHandler((error, request, reply) => answerError(services, error as Error, request, reply));
  app.setNotFoundHandler((_, reply) => reply.code(404).type('text/plain').send('Not Found'));
  const metrics = createRouterMetrics(services, options.registry);
  observeRequests(app, options.accessLog ?? services.log, metrics);
  const shared = { services };
  app.register(healthPlugin, shared);
  app.register(metricsPlugin, { metrics });
  app.register(mcpPlugin, shared);
  app.register(agentMcpPlugin, shared);
  app.register(taskPlugin, shared);
  app.register(apiPlugin, shared);
  app.register(staticPlugin, shared);
  app.register(browserClientPlugin);
  app.register(landingPlugin, shared);
  app.addHook('onClose', () => services.close());
  return { app, services };
}

/** Ids that are unique among all lives of all routers: random once a process, then counted. */
function countRequests({ random }: Services): () => string {
  const life = random.bytes(6).toString('hex');
  let count = 0;
  return () => `${life}-${++count}`;
}

/** What fastify itself found: a body too long, of another type, cut short. */
function answerError(services: Services, error: Error, request: FastifyRequest, reply: FastifyReply): void {
  const status = 'statusCode' in error && typeof error.statusCode === 'number' ? error.statusCode : 500;
  if (status >= 500) services.log.error('a request failed', { id: request.id, error });
  const message = status >= 500 ? 'internal error' : error.message;
  if (status === 413) reply.header('connection', 'close');
  reply.code(status).send({ error: message });
}

/** One line and one count a request: what was asked and how it went, never a header, a query or a body. */
function observeRequests(app: FastifyInstance, log: Log, metrics: RouterMetrics): void {
  app.addHook('onResponse', (request, reply, done) => {
    const { path } = factsOf(request.raw);
    const { statusCode: status } = reply.raw;
    const { id, method } = request;
    const surface = request.routeOptions.url?.replace(/^\/~?/, '') ?? 'none';
    metrics.observe({ surface, method, status }, reply.elapsedTime / 1000);
    log.info('request', { id, method, path, surface, status, ms: Math.round(reply.elapsedTime * 10) / 10 });
    done();
  });
}
