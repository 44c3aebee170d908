import type { Readable } from 'node:stream';

/** Bytes that are dropped until their memory is reclaimed: V8 by itself lets tens of MiB lie. */
const reclaimBytes = 2 * 1024 * 1024;

/** Passes at most `limit` bytes on; what is over it is read and dropped, so that nothing blocks. */
export function relayOutput(
  source: Readable,
  limit: number,
  pass: (bytes: Buffer) => void,
  reclaim: () => void,
  onOverflow: () => void = () => undefined,
): void {
  const drop = reclaimAfter(reclaim);
  let seen = 0;
  source.on('data', (chunk: Buffer) => {
    const room = limit - seen;
    seen += chunk.length;
    if (room > 0) pass(chunk.length > room ? chunk.subarray(0, room) : chunk);
    if (chunk.length > room && room >= 0) onOverflow();
    if (room <= 0) drop(chunk.length);
  });
}

/** Counts bytes that were read and are of no use any more, and has their memory reclaimed now and then. */
export function reclaimAfter(reclaim: () => void): (bytes: number) => void {
  let dropped = 0;
  return (bytes) => {
    dropped += bytes;
    if (dropped < reclaimBytes) return;
    dropped = 0;
    reclaim();
  };
}
