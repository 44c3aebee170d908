import { badRequest } from '../api-error.ts';

const microTime = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.(\d{6})(Z|[+-]\d\d:\d\d)$/;

/**
 * metav1.MicroTime in a member of an object: exactly six digits after the seconds, kept in UTC.
 * Throws 400 for anything else.
 */
export function normalizeMicroTime(kind: string, object: Record<string, unknown>, field: string): void {
  const value = object[field];
  if (value === undefined || value === null) return;
  const match = typeof value === 'string' ? microTime.exec(value) : null;
  const seconds = match === null ? Number.NaN : Date.parse(`${match[1]}${match[3]}`);
  if (match === null || Number.isNaN(seconds))
    throw badRequest(
      `${kind} in version "v1" cannot be handled as a ${kind}: ${field} must be a time with microseconds, 2006-01-02T15:04:05.000000Z, not ${JSON.stringify(value)}`,
    );
  object[field] = `${new Date(seconds).toISOString().slice(0, 19)}.${match[2]}Z`;
}
