import type { IncomingMessage } from 'node:http';
import type { Clock } from '#kit/clock.ts';
import { isObject } from '#kit/json.ts';

/** Fields of a form or of a JSON object; undefined for anything else, and for what is too long. */
export type Fields = ReadonlyMap<string, string>;

const mostBytes = 16_384;

/** Rejects when the client goes away. One that is too slow is cut off. */
export async function readFields(
  request: IncomingMessage,
  clock: Pick<Clock, 'after'>,
  timeoutMs: number,
): Promise<Fields | undefined> {
  const type = request.headers['content-type']?.split(';')[0]?.trim().toLowerCase();
  if (type !== 'application/json' && type !== 'application/x-www-form-urlencoded') return undefined;
  const cancel = clock.after(timeoutMs, () => request.destroy());
  try {
    const chunks: Buffer[] = [];
    let size = 0;
    for await (const chunk of request as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > mostBytes) return undefined;
      chunks.push(chunk);
    }
    const text = Buffer.concat(chunks).toString('utf8');
    return type === 'application/json' ? fromJson(text) : new Map(new URLSearchParams(text));
  } finally {
    cancel();
  }
}

/** Lists and objects are no fields; numbers and booleans are their text. */
function fromJson(text: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (!isObject(value)) return undefined;
    const plain = Object.entries(value).filter(([, member]) => typeof member !== 'object');
    return new Map(plain.map(([name, member]) => [name, String(member)]));
  } catch {
    return undefined;
  }
}
