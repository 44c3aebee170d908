import { type Page, writeText } from '../../page.ts';
import { internalPaths } from '../../paths.ts';
import { factsOf } from '../../request.ts';
import type { Services } from '../../services.ts';
import { landingPage } from './page.ts';

/** `/` when no agent's files appear there: which agents there are and how to reach them. */
export function servedLanding(services: Services): Page {
  return {
    at: internalPaths.landing,
    methods: ['GET', 'HEAD'],
    serve(request, response) {
      const { host } = factsOf(request);
      const asked = { host, origin: `http://${request.headers.host}` };
      writeText(response, 200, landingPage(services.tables.current(), asked, services.version), {
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'no-store',
        'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
      });
    },
  };
}
