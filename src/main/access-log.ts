import { pino } from 'pino';
import type { Log, LogFields } from '#kit/log.ts';
import { adaptLogger } from './log.ts';

/** Lines are written when this much has come together, in characters, or this long has passed, in milliseconds. */
const gatherLength = 32 * 1024;
const gatherMs = 200;

/**
 * A log for the one line that each request writes: gathered, because a write a request costs more than much of
 * the request itself. A process that is killed loses the last moments. Everything else goes to `createLog`'s log.
 */
export function createAccessLog(name: string): Log {
  const destination = pino.destination({ fd: 1, sync: true });
  const named = `,"name":${JSON.stringify(name)}`;
  // Gathered here: pino's destination measures all that it holds at each line that it is given.
  let gathered = '';
  const flush = () => {
    if (gathered !== '') destination.write(gathered);
    gathered = '';
  };
  setInterval(flush, gatherMs).unref();
  process.once('exit', flush);
  return {
    ...adaptLogger(pino({ base: { name } }, destination)),
    info(message, fields = {}) {
      gathered += accessLine(`{"level":30,"time":${Date.now()}${named}`, message, fields);
      if (gathered.length >= gatherLength) flush();
    },
  };
}

/** The line that pino writes, without what it does for the sake of all the logs that it might be. */
export function accessLine(beginning: string, message: string, fields: LogFields): string {
  let line = beginning;
  for (const key in fields) {
    const value = fields[key];
    if (value !== undefined)
      line += `,${textOf(key)}:${typeof value === 'string' ? textOf(value) : (JSON.stringify(value) ?? 'null')}`;
  }
  return `${line},"msg":${textOf(message)}}\n`;
}

/** Without anything that JSON escapes, as almost all of it is. */
const plain = /^[\w/.~: -]*$/;

function textOf(value: string): string {
  return plain.test(value) ? `"${value}"` : JSON.stringify(value);
}
