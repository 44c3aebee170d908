/** What one check of the machine found. */
export interface CheckResult {
  readonly level: 'ok' | 'warn' | 'fail';
  readonly detail: string;
  /** What to do; for warn and fail. */
  readonly remedy?: string;
}

export function ok(detail: string): CheckResult {
  return { level: 'ok', detail };
}

/** It works, with less. */
export function warn(detail: string, remedy: string): CheckResult {
  return { level: 'warn', detail, remedy };
}

/** It does not work until this is mended. */
export function fail(detail: string, remedy: string): CheckResult {
  return { level: 'fail', detail, remedy };
}
