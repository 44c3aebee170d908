import { Cron } from 'croner';
import { messageOf } from '#kit/errors.ts';

/**
 * Times of a cron expression on the clock of a time zone. Where that clock leaps forward, a time that it leaps over is
 * the end of the leap; where it is set back, a time that comes twice counts once, but for expressions like
 * `*\/30 * * * *`, which go by the hour. Day of month and weekday, where both are given, are alternatives.
 */
export interface CronTimes {
  /** The first time after this one, both milliseconds since the epoch; undefined when there is none any more. */
  after(time: number): number | undefined;
  /** The last time that is after `since` and not after `now`. */
  lastDue(since: number, now: number): number | undefined;
}

export type ParsedCron =
  | { readonly ok: true; readonly times: CronTimes }
  | { readonly ok: false; readonly field: 'cron' | 'timeZone'; readonly message: string };

/** Reads `spec.schedule.cron`: five fields, or a word such as @daily. */
export function parseCron(expression: string, timeZone: string): ParsedCron {
  if (!isTimeZone(timeZone))
    return { ok: false, field: 'timeZone', message: 'is no time zone that is known' };
  try {
    const cron = new Cron(expression, { timezone: timeZone, mode: '5-part', paused: true });
    const after = (time: number) => cron.nextRun(new Date(time))?.getTime();
    const isEmpty = after(0) === undefined;
    if (isEmpty) return { ok: false, field: 'cron', message: 'never comes' };
    return { ok: true, times: { after, lastDue: (since, now) => lastDue(after, since, now) } };
  } catch (error) {
    return { ok: false, field: 'cron', message: `cannot be read: ${messageOf(error)}` };
  }
}

function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

const minuteMs = 60_000;

/** Looks back over spans that double, so that of a long time only the end is walked through. */
function lastDue(after: CronTimes['after'], since: number, now: number): number | undefined {
  for (let span = minuteMs; ; span *= 2) {
    const from = Math.max(since, now - span);
    const last = lastFrom(after, from, now);
    if (last !== undefined || from === since) return last;
  }
}

function lastFrom(after: CronTimes['after'], from: number, now: number): number | undefined {
  let last: number | undefined;
  for (let time = after(from); time !== undefined && time <= now; time = after(time)) last = time;
  return last;
}
