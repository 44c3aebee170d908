import { pino } from 'pino';
import type { Log, LogFields } from '#kit/log.ts';

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
  return adapt(pino({ base: { name } }, destination));
}

function adapt(logger: pino.Logger): Log {
  return {
    debug: (message, fields = {}) => logger.debug(fields, message),
    info: (message, fields = {}) => logger.info(fields, message),
    warn: (message, fields = {}) => logger.warn(fields, message),
    error: (message, fields = {}) => logger.error(fields, message),
    with: (fields: LogFields) => adapt(logger.child(fields)),
  };
}
