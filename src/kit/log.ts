/**
 * Structured log. Messages are constant strings; what varies goes into `fields`.
 * pino fits this interface through the adapter in `src/main`; tests use `silentLog`.
 */
export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** A log whose every line carries `fields` too. */
  with(fields: LogFields): Log;
}

/** An `error` field takes anything that was thrown. Secrets never go into a field. */
export type LogFields = Readonly<Record<string, unknown>>;

export const silentLog: Log = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  with: () => silentLog,
};
