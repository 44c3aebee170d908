import { pino } from 'pino';
import type { Log, LogFields } from '#kit/log.ts';
import { adaptLogger } from './log.ts';

/** Lines are written when this much has come together, in bytes, or this long has passed, in milliseconds. */
const gatherLength = 32 * 1024;
const gatherMs = 200;

/**
 * A log for the one line that each request writes: gathered, because a write a request costs more than much of
 * the request itself. A process that is killed loses the last moments. Everything else goes to `createLog`'s log.
 */
export function createAccessLog(name: string): Log {
  const destination = pino.destination({ fd: 1, sync: true });
  const beginning = `,"name":${JSON.stringify(name)}`;
  const gathered = createGathered(gatherLength, (text) => void destination.write(text));
  setInterval(gathered.flush, gatherMs).unref();
  process.once('exit', gathered.flush);
  return {
    ...adaptLogger(pino({ base: { name } }, destination)),
    info(message, fields = {}) {
      gathered.add(accessLine(`{"level":30,"time":${Date.now()}${beginning}`, message, fields));
    },
  };
}

/**
 * Puts lines of ASCII together, `most` bytes at a time. Each is copied while it is at hand: put together as text, they
 * would be thousands of small pieces when they are written, which the collector has carried about until then.
 */
export function createGathered(
  most: number,
  write: (text: string) => void,
): { add(line: string): void; flush(): void } {
  const page = Buffer.allocUnsafeSlow(most);
  let length = 0;
  const flush = () => {
    const text = page.toString('latin1', 0, length);
    length = 0;
    if (text !== '') write(text);
  };
  return {
    flush,
    add(line) {
      if (length + line.length > most) flush();
      if (line.length > most) write(line);
      else length += page.write(line, length, 'latin1');
    },
  };
}

/** The line that pino writes, in ASCII, without what it does for the sake of all the logs that it might be. */
export function accessLine(beginning: string, message: string, fields: LogFields): string {
  let line = beginning;
  for (const key in fields) {
    const value = fields[key];
    if (value === undefined) continue;
    if (typeof value === 'string') line += `${namedOnce(key)}${textOf(value)}`;
    else line += `${namedOnce(key)}${Number.isFinite(value) ? value : textOfOther(value)}`;
  }
  return `${line}${ended(message)}`;
}

/** Keys and messages are few, and written in the program. */
const namedOnce = once((key: string) => `,${textOf(key)}:`);
const ended = once((message: string) => `,"msg":${textOf(message)}}\n`);

function once(make: (text: string) => string): (text: string) => string {
  const known = new Map<string, string>();
  return (text) => {
    const found = known.get(text);
    if (found !== undefined) return found;
    const made = make(text);
    if (known.size < 256) known.set(text, made);
    return made;
  };
}

/** Without anything that JSON escapes, as almost all of it is. */
const plain = /^[\w/.~: -]*$/;

function textOf(value: string): string {
  return plain.test(value) ? `"${value}"` : textOfOther(value);
}

function textOfOther(value: unknown): string {
  const text = JSON.stringify(value) ?? 'null';
  return text.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
