import type { FileHandle } from 'node:fs/promises';

/** What is written is sent to the disk so often, in bytes: at the end there is little left to wait for. */
const flushBytes = 64 * 1024 * 1024;

/** Appends chunks to a file; the disk writes beside it. */
export function createWriter(
  file: FileHandle,
  onWritten: (bytes: number) => void,
): (chunks: readonly Buffer[], bytes: number) => Promise<void> {
  let unflushed = 0;
  let flushing: Promise<void> | undefined;

  function flush(): void {
    unflushed = 0;
    // What goes wrong here the last sync says again.
    flushing = file
      .datasync()
      .catch(() => undefined)
      .finally(() => {
        flushing = undefined;
      });
  }
  return async (chunks, bytes) => {
    await writeAll(file, chunks, bytes);
    unflushed += bytes;
    onWritten(bytes);
    if (unflushed >= flushBytes && flushing === undefined) flush();
  };
}

/** A disk that is almost full takes a part and says nothing; only the next write fails. */
async function writeAll(file: FileHandle, chunks: readonly Buffer[], bytes: number): Promise<void> {
  const { bytesWritten } = await file.writev(chunks);
  if (bytesWritten === bytes) return;
  const rest = Buffer.concat(chunks).subarray(bytesWritten);
  for (let at = 0; at < rest.length; ) at += (await file.write(rest, at)).bytesWritten;
}

/**
 * After so many bytes, what they were read into is freed: left to itself, the runtime lets a hundred MiB lie. After more it
 * looks through all memory each time.
 */
const mostLeftBytes = 4 * 1024 * 1024;

/** For all writers of a store together. */
export function reclaimAfter(reclaim: (() => void) | undefined): (bytes: number) => void {
  let left = 0;
  return (bytes) => {
    left += bytes;
    if (left < mostLeftBytes) return;
    left = 0;
    reclaim?.();
  };
}
