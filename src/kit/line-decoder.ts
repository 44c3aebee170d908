import { CodedError } from './errors.ts';

const newline = 0x0a;

export interface LineDecoder {
  /**
   * The lines that end in `chunk`, without their newline; empty lines are left out. A character or line cut by
   * the chunk's border waits for the rest. Throws LineTooLong when a line passes the limit.
   */
  push(chunk: Buffer): string[];
  /** Bytes of the line that has begun and not ended. */
  pending(): number;
}

/** Splits a byte stream of UTF-8 lines. Copies only lines that span chunks. `maxLineBytes` bounds what it holds. */
export function createLineDecoder(maxLineBytes: number): LineDecoder {
  let parts: Buffer[] = [];
  let held = 0;

  function hold(part: Buffer): void {
    held += part.length;
    if (held > maxLineBytes) {
      throw new CodedError('LineTooLong', `a line is over ${maxLineBytes} bytes`);
    }
    parts.push(part);
  }

  function completeHeld(tail: Buffer): string {
    hold(tail);
    const line = Buffer.concat(parts, held).toString('utf8');
    parts = [];
    held = 0;
    return line;
  }

  return {
    push(chunk) {
      const lines: string[] = [];
      let start = 0;
      for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
        const whole = held === 0 && end - start <= maxLineBytes;
        const line = whole ? chunk.toString('utf8', start, end) : completeHeld(chunk.subarray(start, end));
        if (line !== '') lines.push(line);
        start = end + 1;
      }
      if (start < chunk.length) hold(chunk.subarray(start));
      return lines;
    },
    pending: () => held,
  };
}
