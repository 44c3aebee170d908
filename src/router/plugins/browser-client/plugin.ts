import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';

/** `/MCPBrowserClient.js`: the module that agents' pages import to call tools. */
export async function browserClientPlugin(app: FastifyInstance): Promise<void> {
  const module = readFileSync(join(import.meta.dirname, 'mcp-browser-client.js'), 'utf8');
  app.route({
    method: ['GET', 'HEAD'],
    url: '/MCPBrowserClient.js',
    handler: async (_, reply) =>
      reply
        .type('text/javascript; charset=utf-8')
        .header('cache-control', 'public, max-age=300')
        .header('x-content-type-options', 'nosniff')
        .send(module),
  });
}
