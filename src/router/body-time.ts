import type { FastifyInstance } from 'fastify';
import type { Services } from './services.ts';

/** A client that sends a JSON body too slowly is cut off: it holds a connection and the memory of what came. */
export function limitBodyTime(app: FastifyInstance, { clock, limits }: Services): void {
  app.addHook('preParsing', async (request, _reply, payload) => {
    if (payload.readableEnded) return payload;
    const cancel = clock.after(limits.bodyTimeoutMs, () => request.raw.destroy());
    payload.once('end', cancel).once('close', cancel);
    return payload;
  });
}
