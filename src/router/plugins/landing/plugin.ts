import type { FastifyInstance } from 'fastify';
import { internalPaths } from '../../paths.ts';
import { factsOf } from '../../request.ts';
import type { Services } from '../../services.ts';
import { landingPage } from './page.ts';

/** `/` when no agent's files appear there: which agents there are and how to reach them. */
export async function landingPlugin(
  app: FastifyInstance,
  { services }: { services: Services },
): Promise<void> {
  app.route({
    method: ['GET', 'HEAD'],
    url: internalPaths.landing,
    handler: async (request, reply) => {
      const table = services.tables.current();
      reply
        .type('text/html; charset=utf-8')
        .header('cache-control', 'no-store')
        .header(
          'content-security-policy',
          "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
        )
        .header('x-content-type-options', 'nosniff')
        .header('referrer-policy', 'no-referrer');
      const { host } = factsOf(request.raw);
      return landingPage(table, { host, origin: `http://${request.headers.host}` }, services.version);
    },
  });
}
