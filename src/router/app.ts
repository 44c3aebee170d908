import type { Registry } from 'prom-client';
import type { Log } from '#kit/log.ts';
import type { Authenticator } from './auth/authenticator.ts';
import { createAuthenticators } from './auth/authenticators.ts';
import { createAuthEndpoints } from './auth/endpoints.ts';
import { createGate } from './auth/gate.ts';
import { metadataPage } from './auth/metadata/page.ts';
import { createSsoWay } from './auth/sso/way.ts';
import { createFront, type Exchange, type HttpHandler } from './front.ts';
import { createGuard } from './guard.ts';
import { createRouterMetrics, type RouterMetrics } from './metrics.ts';
import { createObserver } from './observe.ts';
import type { Page } from './page.ts';
import { agentEndpoint } from './plugins/agent-mcp/endpoint.ts';
import { agentPathPages } from './plugins/agent-mcp/page.ts';
import { forward } from './plugins/api/forward.ts';
import { blobsForwarder } from './plugins/blobs/forward.ts';
import { browserClientPage } from './plugins/browser-client/page.ts';
import { healthPages } from './plugins/health/page.ts';
import { servedLanding } from './plugins/landing/serve-landing.ts';
import { aggregateEndpoint } from './plugins/mcp/endpoint.ts';
import { metricsPage } from './plugins/metrics/page.ts';
import { queuesPage } from './plugins/queues/page.ts';
import { staticPage } from './plugins/static/page.ts';
import { anyTaskPage } from './plugins/task/any-task.ts';
import { taskPage } from './plugins/task/page.ts';
import { upstreamClientPage, upstreamLoginPage } from './plugins/upstream-login/page.ts';
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
  /** Ways to show who one is. Default: those of the product. */
  readonly authenticators?: (services: Services) => readonly Authenticator[];
}

export interface Router {
  /** Takes every request of every listener. */
  readonly handle: HttpHandler;
  readonly services: Services;
  /** Ends event streams and connections to agents. */
  close(): Promise<void>;
}

/** The router without any listener; `startRouter` has them. */
export function buildRouter(options: RouterOptions): Router {
  const services = createServices(options);
  const guard = createGuard({
    tables: options.tables,
    allowedHosts: options.allowedHosts ?? [],
    allowedOrigins: options.allowedOrigins ?? [],
    ports: options.ports ?? (() => undefined),
  });
  const authenticators = (options.authenticators ?? createAuthenticators)(services);
  const gate = createGate({ services, authenticators });
  const nextId = countRequests(services);
  const metrics = createRouterMetrics(services, options.registry);
  const observe = createObserver(services.clock, options.accessLog ?? services.log, metrics);
  const aggregate = aggregateEndpoint(services);
  const agent = agentEndpoint(services);
  const api = (exchange: Exchange<'api'>) => forward(services, exchange);
  const auth = createAuthEndpoints(services, { sso: createSsoWay(services, services.logins) });
  const blobs = blobsForwarder(services);
  const pages = allPages(services, metrics);
  const front = createFront({
    services,
    auth,
    guard,
    gate,
    observe,
    nextId,
    aggregate,
    agent,
    api,
    blobs,
    pages,
  });
  return {
    handle: front.handle,
    services,
    async close() {
      aggregate.close();
      front.close();
      await services.close();
    },
  };
}

function allPages(services: Services, metrics: RouterMetrics): readonly Page[] {
  return [
    ...healthPages(services),
    metricsPage(metrics),
    metadataPage(services),
    ...agentPathPages,
    taskPage(services),
    anyTaskPage(services),
    queuesPage(services),
    upstreamLoginPage(services),
    upstreamClientPage(services),
    staticPage(services),
    browserClientPage(),
    servedLanding(services),
  ];
}

/** Ids that are unique among all lives of all routers: random once a process, then counted. */
function countRequests({ random }: Services): () => string {
  const life = random.bytes(6).toString('hex');
  let count = 0;
  return () => `${life}-${++count}`;
}
