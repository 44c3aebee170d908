import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '#kit/clock.ts';

interface Stuck {
  /** Bytes that the connection had taken when it was looked at. */
  readonly taken: number;
  readonly since: number;
}

/**
 * Cuts off clients that take nothing of what was written for them for `unreadMs`: each holds a connection and the
 * answer's memory. One look at all of them now and then costs no request anything. Ends with the server.
 */
export function watchReaders(server: Server, clock: Clock, unreadMs: number): void {
  const open = new Set<Socket>();
  const stuck = new Map<Socket, Stuck>();

  function look(): void {
    const now = clock.monotonic();
    for (const socket of open) {
      const { writableLength, bytesWritten } = socket;
      const taken = bytesWritten - writableLength;
      const known = stuck.get(socket);
      if (writableLength === 0) stuck.delete(socket);
      else if (known === undefined || taken > known.taken) stuck.set(socket, { taken, since: now });
      else if (now - known.since >= unreadMs) socket.destroy();
    }
    cancel = clock.after(unreadMs / 4, look);
  }
  let cancel = clock.after(unreadMs / 4, look);
  server.on('connection', (socket) => {
    open.add(socket);
    socket.once('close', () => {
      open.delete(socket);
      stuck.delete(socket);
    });
  });
  server.once('close', () => cancel());
}
