import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Resolution } from '#routing/resolve.ts';
import { type AdmissionOptions, createAdmission } from './admission.ts';
import type { AuthEndpoints } from './auth/endpoints.ts';
import { closeBehindBody } from './leave-body.ts';
import { writeJson } from './mcp/answer.ts';
import { type Page, writeNotFound } from './page.ts';
import { internalPaths, resolveRequest } from './paths.ts';
import { offerLogin } from './plugins/upstream-login/offer.ts';
import { createBodyReader } from './read-body.ts';
import { answerError } from './reply.ts';
import type { Services } from './services.ts';

export type HttpHandler = (request: IncomingMessage, response: ServerResponse) => void;

/** One request: node's own objects, because a framework's cost as much as all the rest of a call. */
export interface Exchange<Kind extends Resolution['kind'] = Resolution['kind']> {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly resolution: Resolution & { readonly kind: Kind };
}

/** What answers at MCP endpoints of one kind. Whatever a method throws or rejects with becomes the answer. */
export interface McpEndpoint<Kind extends Resolution['kind']> {
  post(exchange: Exchange<Kind>, text: string): void | Promise<void>;
  get(exchange: Exchange<Kind>): void | Promise<void>;
  delete(exchange: Exchange<Kind>): void | Promise<void>;
}

export interface FrontOptions extends AdmissionOptions {
  readonly aggregate: McpEndpoint<'mcp'>;
  readonly agent: McpEndpoint<'agent-mcp'>;
  /** Answers at the HTTP APIs of agents; it reads the body itself. */
  readonly api: (exchange: Exchange<'api'>) => void;
  /** Answers below `/auth`; it reads the body itself. */
  readonly auth: AuthEndpoints;
  /** Takes and gives files of agents; it reads the body itself. */
  readonly blobs: (exchange: Exchange<'blobs'>) => void | Promise<void>;
  /** Answer everything else. */
  readonly pages: readonly Page[];
}

export interface Front {
  readonly handle: HttpHandler;
  close(): void;
}

/** Every request comes in here. */
export function createFront(options: FrontOptions): Front {
  const { services, aggregate, agent, api, blobs, auth } = options;
  const bodies = createBodyReader(services);
  const pages = new Map(options.pages.map((page) => [page.at, page]));

  const admit = createAdmission(options);

  function serve<Kind extends Resolution['kind']>(
    endpoint: McpEndpoint<Kind>,
    exchange: Exchange<Kind>,
  ): void {
    admit(exchange, exchange.resolution.kind, () => serveAdmitted(endpoint, exchange));
  }

  function serveAdmitted<Kind extends Resolution['kind']>(
    endpoint: McpEndpoint<Kind>,
    exchange: Exchange<Kind>,
  ): void {
    const { request, response } = exchange;
    if (request.method === 'GET') {
      attempt(services, exchange, undefined, () => endpoint.get(exchange));
      return;
    }
    offerLogin(request, services.auth);
    bodies.read(request, (text, unread) => {
      if (unread !== undefined) {
        closeBehindBody(exchange, services.clock);
        writeJson(response, unread.status, { error: unread.message });
      } else
        attempt(services, exchange, text, () =>
          request.method === 'DELETE' ? endpoint.delete(exchange) : endpoint.post(exchange, text ?? ''),
        );
    });
  }

  function servePage(request: IncomingMessage, response: ServerResponse, at: string): void {
    const found = pages.get(at);
    const page = found?.methods.includes(request.method ?? '') ? found : undefined;
    admit({ request, response }, page === undefined ? 'none' : at.replace(/^\/~?/, ''), () => {
      closeBehindBody({ request, response }, services.clock);
      if (page === undefined) writeNotFound(response);
      else attempt(services, { response }, undefined, () => page.serve(request, response));
    });
  }

  function handle(request: IncomingMessage, response: ServerResponse): void {
    const { resolution, internal } = resolveRequest(request, services.resolve);
    const { method = '' } = request;
    if (internal === internalPaths.mcp && resolution.kind === 'mcp' && mcpMethods.has(method)) {
      serve(aggregate, { request, response, resolution });
    } else if (
      internal === internalPaths['agent-mcp'] &&
      resolution.kind === 'agent-mcp' &&
      mcpMethods.has(method)
    ) {
      serve(agent, { request, response, resolution });
    } else if (internal === internalPaths.api && resolution.kind === 'api' && apiMethods.has(method)) {
      const exchange = { request, response, resolution };
      admit(exchange, resolution.kind, () => attempt(services, exchange, undefined, () => api(exchange)));
    } else if (internal === internalPaths.auth) {
      admit({ request, response }, 'auth', () =>
        attempt(services, { response }, undefined, () => auth.serve(request, response)),
      );
    } else if (internal === internalPaths.blobs && resolution.kind === 'blobs') {
      const exchange = { request, response, resolution };
      admit(exchange, resolution.kind, () => attempt(services, exchange, undefined, () => blobs(exchange)));
    } else servePage(request, response, internal);
  }
  return { handle, close: () => bodies.close() };
}

const mcpMethods = new Set(['POST', 'GET', 'DELETE']);
const apiMethods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE']);

function attempt(
  services: Services,
  { response }: Pick<Exchange, 'response'>,
  text: string | undefined,
  work: () => void | Promise<void>,
): void {
  try {
    work()?.catch((error: unknown) => answerError(services, response, text, error));
  } catch (error) {
    answerError(services, response, text, error);
  }
}
