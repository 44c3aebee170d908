import type { FastifyInstance } from 'fastify';
import { internalPaths } from '../../paths.ts';

/** What lies below `/mcps/` and is no endpoint. */
export async function agentPathsPlugin(app: FastifyInstance): Promise<void> {
  app.all(internalPaths['agent-other'], async (_, reply) =>
    reply.code(404).send({ error: 'Endpoint not found. Use /mcps/<agent>/mcp for MCP access.' }),
  );
  app.all(internalPaths['unknown-agent'], async (_, reply) =>
    reply.code(404).type('text/plain').send('API Route not found'),
  );
}
