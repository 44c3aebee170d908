/** The last bytes of a stream, in constant memory. */
export interface LogTail {
  append(bytes: Uint8Array): void;
  text(): string;
  /** Pieces appended so far. */
  readonly sequence: number;
  readonly truncated: boolean;
}

/** What a log had already, for one that goes on. */
export interface LogStart {
  readonly tail: string;
  readonly sequence: number;
  readonly truncated: boolean;
}

const nothing: LogStart = { tail: '', sequence: 0, truncated: false };

export function createLogTail(maxBytes: number, start: LogStart = nothing): LogTail {
  let parts: Uint8Array[] = start.tail === '' ? [] : [Buffer.from(start.tail, 'utf8')];
  let held = parts.reduce((sum, part) => sum + part.length, 0);
  let { sequence, truncated } = start;
  const squeeze = () => {
    const all = Buffer.concat(parts, held);
    const kept = all.subarray(Math.max(0, all.length - maxBytes));
    parts = [kept];
    held = kept.length;
    return kept;
  };
  return {
    append(bytes) {
      sequence += 1;
      parts.push(Uint8Array.from(bytes));
      held += bytes.length;
      if (held > maxBytes) truncated = true;
      if (held > 2 * maxBytes) squeeze();
    },
    text: () => squeeze().toString('utf8'),
    get sequence() {
      return sequence;
    },
    get truncated() {
      return truncated;
    },
  };
}
