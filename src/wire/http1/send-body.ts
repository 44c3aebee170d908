import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';

export interface BodyOptions {
  /** As stated in the head; undefined: in chunks. */
  readonly bytes: number | undefined;
  readonly progress: () => void;
  /** Called once, with what went wrong. */
  readonly done: (problem: string | undefined) => void;
}

/**
 * Streams a body onto a connection, no faster than that takes it. Returns a function that stops it at once; what is left
 * of the body then flows on and is dropped: whoever sends it may look for the answer only behind it.
 */
export function sendBody(body: Readable, socket: Socket, { bytes, progress, done }: BodyOptions): () => void {
  let sent = 0;
  let over = false;
  const stop = () => {
    over = true;
    body.off('data', onData).off('end', onEnd).off('error', onError).off('close', onClose);
    socket.off('drain', onDrain);
    if (body.isPaused()) body.resume();
  };
  const finish = (problem: string | undefined) => {
    if (over) return;
    stop();
    done(problem);
  };
  const onData = (chunk: Buffer) => {
    sent += chunk.length;
    if (bytes !== undefined && sent > bytes) {
      finish('the body is longer than its head says');
      return;
    }
    progress();
    if (!write(socket, chunk, bytes === undefined)) body.pause();
  };
  const onEnd = () => {
    if (bytes !== undefined && sent < bytes) finish('the body is shorter than its head says');
    else {
      if (bytes === undefined) socket.write('0\r\n\r\n', 'latin1');
      finish(undefined);
    }
  };
  const onError = () => finish('the body broke off');
  const onClose = () => finish('the body broke off');
  const onDrain = () => {
    progress();
    body.resume();
  };
  socket.on('drain', onDrain);
  body.on('data', onData).on('end', onEnd).on('error', onError).on('close', onClose);
  return stop;
}

function write(socket: Socket, chunk: Buffer, inChunks: boolean): boolean {
  if (!inChunks) return socket.write(chunk);
  socket.cork();
  socket.write(`${chunk.length.toString(16)}\r\n`, 'latin1');
  socket.write(chunk);
  const goesOn = socket.write('\r\n', 'latin1');
  socket.uncork();
  return goesOn;
}
