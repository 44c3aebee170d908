import { pino } from 'pino';
import type { Log } from '#kit/log.ts';
import { adaptLogger } from './log.ts';

/** Lines are written when this much has come together, in bytes, or this long has passed, in milliseconds. */
const gatherBytes = 8 * 1024;
const gatherMs = 200;

/**
 * A log for the one line that each request writes: gathered, because a write a request costs more than much of
 * the request itself. A process that is killed loses the last moments. Everything else goes to `createLog`'s log.
 */
export function createAccessLog(name: string): Log {
  const destination = pino.destination({ fd: 1, sync: true, minLength: gatherBytes });
  setInterval(() => destination.flushSync(), gatherMs).unref();
  process.once('exit', () => destination.flushSync());
  return adaptLogger(pino({ base: { name } }, destination));
}
