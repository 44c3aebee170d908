import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '#kit/clock.ts';
import { sendsBody } from './request.ts';

/** A client has this long, in milliseconds, to take the answer to a request whose body is left unread. */
const lingerMs = 1_000;

/**
 * Leaves the rest of a body where it is; for a request whose answer closes the connection. Node would read it to its
 * end, however long, and a connection that is closed with bytes unread is reset, so that the client could lose the
 * answer: it ends after a moment instead.
 */
export function leaveBody(request: IncomingMessage, clock: Pick<Clock, 'after'>): void {
  if (request.complete) return;
  const { socket } = request;
  request.pause();
  // Read once, it counts as somebody's and is not read on for nobody.
  request.read(0);
  socket.destroySoon = () => {
    socket.end();
    socket.once(
      'close',
      clock.after(lingerMs, () => socket.destroy()),
    );
  };
}

/** Where nobody reads a body: what is left unread would be taken for the next request. Before the answer is begun. */
export function closeBehindBody(
  { request, response }: { readonly request: IncomingMessage; readonly response: ServerResponse },
  clock: Pick<Clock, 'after'>,
): void {
  if (!sendsBody(request)) return;
  response.setHeader('connection', 'close');
  leaveBody(request, clock);
}
