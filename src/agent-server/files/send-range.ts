import type { FileHandle } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { fileBuffers } from './buffers.ts';
import type { ByteRange } from './byte-range.ts';

/**
 * Writes a part of a file as the body, and ends it: one buffer is read into while the other goes out. A client that goes
 * away ends it; a file that got shorter breaks the connection, so that nobody takes a part for the whole. Never rejects.
 */
export async function sendRange(
  handle: FileHandle,
  { start, end }: ByteRange,
  response: ServerResponse,
): Promise<void> {
  let at = start;
  let sent: Promise<void> = Promise.resolve();
  let idle = fileBuffers.take();
  let busy = fileBuffers.take();
  try {
    while (at < end && !response.destroyed) {
      const { bytesRead } = await handle.read(idle, 0, Math.min(idle.length, end - at), at);
      if (bytesRead === 0) throw new Error('the file is shorter now');
      at += bytesRead;
      await sent;
      const next = idle.subarray(0, bytesRead);
      sent = write(response, next);
      // A client may go away while the next part is read: nobody awaits this one yet, and it must not end the process.
      sent.catch(() => undefined);
      [idle, busy] = [busy, idle];
    }
    await sent;
    if (!response.destroyed) response.end();
    fileBuffers.give(idle);
    fileBuffers.give(busy);
  } catch {
    // The buffers may still be on their way out: they are left to the collector.
    response.destroy();
  }
}

/** Resolves when the bytes are written, and the buffer is free again. */
function write(response: ServerResponse, bytes: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    const gone = () => reject(new Error('the client has gone'));
    response.once('close', gone);
    response.write(bytes, (error) => {
      response.off('close', gone);
      if (error) reject(error);
      else resolve();
    });
  });
}
