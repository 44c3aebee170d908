import type { IncomingMessage } from 'node:http';
import type { FastifyInstance } from 'fastify';
import type { Services } from './services.ts';

/** Between two looks, in milliseconds: how much longer than the limit a slow client may hold on. */
const lookEveryMs = 250;

/**
 * A client that sends a JSON body too slowly is cut off: it holds a connection and the memory of what came.
 * One timer looks after all of them, because almost every body is there at once.
 */
export function limitBodyTime(app: FastifyInstance, { clock, limits }: Services): void {
  const reading = new Map<IncomingMessage, number>();
  let cancel: (() => void) | undefined;

  function look(): void {
    cancel = undefined;
    const oldest = clock.monotonic() - limits.bodyTimeoutMs;
    for (const [request, since] of reading) {
      if (request.complete || request.destroyed) reading.delete(request);
      else if (since < oldest) request.destroy();
    }
    if (reading.size > 0) cancel = clock.after(lookEveryMs, look);
  }
  app.addHook('preParsing', (request, _reply, payload, done) => {
    reading.set(request.raw, clock.monotonic());
    cancel ??= clock.after(lookEveryMs, look);
    done(null, payload);
  });
  app.addHook('preValidation', (request, _reply, done) => {
    reading.delete(request.raw);
    done();
  });
  app.addHook('onClose', () => cancel?.());
}
