import { messageOf } from '#kit/errors.ts';
import type { Log, LogFields } from '#kit/log.ts';

/** One JSON object a line, as pino writes them, without the time pino takes to load. */
export function createLineLog(write: (line: string) => void, now: () => number, fixed: LogFields = {}): Log {
  const at =
    (level: string) =>
    (message: string, fields: LogFields = {}) => {
      const line = { level, time: new Date(now()).toISOString(), msg: message, ...fixed, ...plain(fields) };
      write(`${JSON.stringify(line)}\n`);
    };
  return {
    debug: () => undefined,
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    with: (fields) => createLineLog(write, now, { ...fixed, ...fields }),
  };
}

function plain(fields: LogFields): LogFields {
  const { error } = fields;
  if (error === undefined) return fields;
  const stack = error instanceof Error && error.stack !== undefined ? { stack: error.stack } : {};
  return { ...fields, error: messageOf(error), ...stack };
}
