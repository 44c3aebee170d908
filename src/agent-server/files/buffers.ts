/**
 * Buffers of one size that are used again: with new ones the collector is always behind large files. All threads see what
 * is in them.
 */
export interface Buffers {
  take(): Buffer;
  give(buffer: Buffer): void;
}

/** Keeps at most `kept` that nobody uses. */
export function createBuffers(bytes: number, kept: number): Buffers {
  const free: Buffer[] = [];
  return {
    take: () => free.pop() ?? Buffer.from(new SharedArrayBuffer(bytes)),
    give(buffer) {
      if (free.length < kept) free.push(buffer);
    },
  };
}

/** What files are read and written in; larger ones bring nothing. */
export const fileBuffers = createBuffers(512 * 1024, 16);
