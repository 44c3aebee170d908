import type { CheckResult } from '../../context.ts';

export function ok(detail: string): CheckResult {
  return { level: 'ok', detail };
}

export function warn(detail: string, remedy: string): CheckResult {
  return { level: 'warn', detail, remedy };
}

export function fail(detail: string, remedy: string): CheckResult {
  return { level: 'fail', detail, remedy };
}
