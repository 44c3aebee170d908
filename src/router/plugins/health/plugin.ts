import type { FastifyInstance } from 'fastify';
import type { Services } from '../../services.ts';

/**
 * `GET /health`: the process is alive; `/health?ready` and `GET /ready` also ask whether it should get requests: it
 * has its table and keys, has heard of the other routers and does not end.
 */
export async function healthPlugin(
  app: FastifyInstance,
  { services }: { services: Services },
): Promise<void> {
  const startedAt = services.clock.monotonic();
  app.get('/health', async (request, reply) => {
    const ready = isReady(services);
    const asked = (request.query as Record<string, unknown>)['ready'] !== undefined;
    reply.code(asked && !ready ? 503 : 200).header('cache-control', 'no-store');
    return {
      status: statusOf(services),
      uptime: (services.clock.monotonic() - startedAt) / 1000,
      timestamp: new Date(services.clock.now()).toISOString(),
      pid: process.pid,
      memory: memory(),
      activeSessions: { webtty: 0, webchat: 0, dashboard: 0, webmeet: 0, status: 0, agent: 0 },
    };
  });
  app.get('/ready', async (_, reply) => {
    reply.code(isReady(services) ? 200 : 503).header('cache-control', 'no-store');
    return { status: statusOf(services) };
  });
}

function isReady(services: Services): boolean {
  return statusOf(services) === 'healthy';
}

function statusOf({ tables, keys, peers, draining }: Services): 'healthy' | 'starting' | 'stopping' {
  if (draining) return 'stopping';
  return tables.synced && keys.ready && peers.ready ? 'healthy' : 'starting';
}

function memory(): Record<string, number> {
  const { rss, heapUsed, heapTotal } = process.memoryUsage();
  return { rss, heapUsed, heapTotal, rssMB: toMegabytes(rss), heapUsedMB: toMegabytes(heapUsed) };
}

function toMegabytes(bytes: number): number {
  return Math.round((bytes / 1_048_576) * 100) / 100;
}
