import type { Clock } from '#kit/clock.ts';
import { messageOf } from '#kit/errors.ts';
import type { Journal } from './events.ts';
import type { RotatingLog } from './rotating-log.ts';

/** Lines of watchdog.log: `{ts, level, event, managerPid, …fields}`; `ts` is ISO 8601 in UTC. */
export function openJournal(log: RotatingLog, clock: Clock, managerPid: number): Journal {
  return (level, event, fields = {}) => {
    const ts = new Date(clock.now()).toISOString();
    log.write(`${JSON.stringify({ ts, level, event, managerPid, ...fields }, errorsAsText)}\n`);
  };
}

function errorsAsText(_key: string, value: unknown): unknown {
  return value instanceof Error ? messageOf(value) : value;
}
