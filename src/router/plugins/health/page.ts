import { writeJson } from '../../mcp/answer.ts';
import type { Page } from '../../page.ts';
import { factsOf } from '../../request.ts';
import type { Services } from '../../services.ts';

const noStore = { 'cache-control': 'no-store' };

/**
 * `GET /health`: the process is alive; `/health?ready` and `GET /ready` also ask whether it should get requests: it
 * has its table and keys, has heard of the other routers and does not end.
 */
export function healthPages(services: Services): readonly Page[] {
  const startedAt = services.clock.monotonic();
  const health: Page = {
    at: '/health',
    methods: ['GET'],
    serve(request, response) {
      const asked = new URLSearchParams(factsOf(request).search).has('ready');
      const about = {
        status: statusOf(services),
        uptime: (services.clock.monotonic() - startedAt) / 1000,
        timestamp: new Date(services.clock.now()).toISOString(),
        pid: process.pid,
        memory: memory(),
        activeSessions: { webtty: 0, webchat: 0, dashboard: 0, webmeet: 0, status: 0, agent: 0 },
      };
      writeJson(response, asked && !isReady(services) ? 503 : 200, about, noStore);
    },
  };
  const ready: Page = {
    at: '/ready',
    methods: ['GET'],
    serve: (_, response) =>
      writeJson(response, isReady(services) ? 200 : 503, { status: statusOf(services) }, noStore),
  };
  return [health, ready];
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
