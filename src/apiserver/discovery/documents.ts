import type { Engine } from '../engine.ts';
import type { Exchange } from '../http/exchange.ts';

/** What the server says about itself: health, version, discovery and OpenAPI. */
export interface Documents {
  /** Answers health checks, which need no token. True when it answered. */
  health(exchange: Exchange): boolean;
  serve(exchange: Exchange): boolean;
}

/** `version`: gitVersion of /version, with its leading v. */
export function createDocuments(_engine: Engine): Documents {
  return {
    health(exchange) {
      if (!['/healthz', '/readyz', '/livez'].includes(exchange.path)) return false;
      exchange.text(200, 'text/plain; charset=utf-8', 'ok');
      return true;
    },
    serve: () => false,
  };
}
