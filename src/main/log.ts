import { pino } from 'pino';
import { CodedError } from '#kit/errors.ts';
import type { Log, LogFields } from '#kit/log.ts';

/** A log of JSON lines on standard output, which the watchdog keeps in the process's file. */
export function createLog(name: string, level = 'info'): Log {
  const options = { base: { name }, level, serializers: { error: describeError } };
  return adaptLogger(pino(options, pino.destination({ fd: 1, sync: true })));
}

/** The project's log over a pino logger. */
export function adaptLogger(logger: pino.Logger): Log {
  return {
    debug: (message, fields = {}) => logger.debug(fields, message),
    info: (message, fields = {}) => logger.info(fields, message),
    warn: (message, fields = {}) => logger.warn(fields, message),
    error: (message, fields = {}) => logger.error(fields, message),
    with: (fields: LogFields) => adaptLogger(logger.child(fields)),
  };
}

function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const described = pino.stdSerializers.err(error);
  return error instanceof CodedError && error.remedy !== undefined
    ? { ...described, remedy: error.remedy }
    : described;
}
