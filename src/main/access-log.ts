import { pino } from 'pino';
import type { Log, LogFields } from '#kit/log.ts';
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
  const log = adaptLogger(pino({ base: { name } }, destination));
  const base = `,"name":${JSON.stringify(name)}`;
  return {
    ...log,
    info: (message, fields = {}) =>
      void destination.write(accessLine(`{"level":30,"time":${Date.now()}${base}`, message, fields)),
  };
}

/** The line that pino writes, without what it does for the sake of all the logs that it might be. */
export function accessLine(beginning: string, message: string, fields: LogFields): string {
  let line = beginning;
  for (const key in fields) {
    const value = fields[key];
    if (value !== undefined) line += `,${JSON.stringify(key)}:${JSON.stringify(value) ?? 'null'}`;
  }
  return `${line},"msg":${JSON.stringify(message)}}\n`;
}
