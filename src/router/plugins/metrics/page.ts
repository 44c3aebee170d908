import type { RouterMetrics } from '../../metrics.ts';
import { type Page, writeNotFound, writeText } from '../../page.ts';
import { isFromAgent } from '../../request.ts';

/** `/metrics` in the Prometheus text format; not for what runs inside sandboxes. */
export function metricsPage(metrics: RouterMetrics): Page {
  return {
    at: '/metrics',
    methods: ['GET'],
    async serve(request, response) {
      if (isFromAgent(request)) {
        writeNotFound(response);
        return;
      }
      const { type, text } = await metrics.read();
      writeText(response, 200, text, { 'content-type': type, 'cache-control': 'no-store' });
    },
  };
}
