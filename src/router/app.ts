import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import type { Registry } from 'prom-client';
import type { Log } from '#kit/log.ts';
import { createFront, type Exchange, type HttpHandler } from './front.ts';
import { createGuard } from './guard.ts';
import { createRouterMetrics } from './metrics.ts';
import { createObserver, type Observe } from './observe.ts';
import { resolveRequest } from './paths.ts';
import { agentEndpoint } from './plugins/agent-mcp/endpoint.ts';
import { agentPathsPlugin } from './plugins/agent-mcp/plugin.ts';
import { forward } from './plugins/api/forward.ts';
import { browserClientPlugin } from './plugins/browser-client/plugin.ts';
import { healthPlugin } from './plugins/health/plugin.ts';
import { landingPlugin } from './plugins/landing/plugin.ts';
import { aggregateEndpoint } from './plugins/mcp/endpoint.ts';
import { metricsPlugin } from './plugins/metrics/plugin.ts';
import { staticPlugin } from './plugins/static/plugin.ts';
import { taskPlugin } from './plugins/task/plugin.ts';
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
  /** Takes every request of every listener. */
  readonly handle: HttpHandler;
  /** What answers whatever does not go on to agents' MCP servers and APIs; use `handle`. */
  readonly app: FastifyInstance;
  readonly services: Services;
}

/** The router without any listener; `startRouter` has them. Await `app.ready()` before the first request. */
export function buildRouter(options: RouterOptions): Router {
  const services = createServices(options);
  const guard = createGuard({
    tables: options.tables,
    allowedHosts: options.allowedHosts ?? [],
    allowedOrigins: options.allowedOrigins ?? [],
    ports: options.ports ?? (() => undefined),
  });
  const nextId = countRequests(services);
  const app = fastify({
    logger: false,
    bodyLimit: services.limits.bodyBytes,
    requestTimeout: services.limits.requestTimeoutMs,
    rewriteUrl: (request) => resolveRequest(request, services.resolve).internal,
    genReqId: nextId,
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
  const observe = createObserver(services.clock, options.accessLog ?? services.log, metrics);
  observeRequests(app, services, observe);
  const shared = { services };
  app.register(healthPlugin, shared);
  app.register(metricsPlugin, { metrics });
  app.register(agentPathsPlugin);
  app.register(taskPlugin, shared);
  app.register(staticPlugin, shared);
  app.register(browserClientPlugin);
  app.register(landingPlugin, shared);
  const aggregate = aggregateEndpoint(services);
  const agent = agentEndpoint(services);
  const others: HttpHandler = (request, response) => app.routing(request, response);
  const api = (exchange: Exchange<'api'>) => forward(services, exchange);
  const front = createFront({ services, guard, observe, nextId, aggregate, agent, api, others });
  app.addHook('preClose', async () => {
    aggregate.close();
    front.close();
  });
  app.addHook('onClose', () => services.close());
  return { handle: front.handle, app, services };
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

function observeRequests(app: FastifyInstance, { clock }: Services, observe: Observe): void {
  app.addHook('onResponse', (request, reply, done) => {
    const surface = request.routeOptions.url?.replace(/^\/~?/, '') ?? 'none';
    const begun = clock.monotonic() - reply.elapsedTime;
    observe({ id: request.id, request: request.raw, surface, status: reply.raw.statusCode, begun });
    done();
  });
}
