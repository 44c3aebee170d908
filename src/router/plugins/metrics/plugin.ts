import type { FastifyInstance } from 'fastify';
import type { RouterMetrics } from '../../metrics.ts';
import { isFromAgent } from '../../request.ts';

/** `/metrics` in the Prometheus text format; not for what runs inside sandboxes. */
export async function metricsPlugin(
  app: FastifyInstance,
  { metrics }: { metrics: RouterMetrics },
): Promise<void> {
  app.get('/metrics', async (request, reply) => {
    if (isFromAgent(request.raw)) return reply.callNotFound();
    reply.type(metrics.registry.contentType).header('cache-control', 'no-store');
    return metrics.registry.metrics();
  });
}
