import { connect, type Socket } from 'node:net';

/** What came back on one connection for bytes that no HTTP client would send. */
export interface RawAnswer {
  readonly text: string;
  /** Of every answer on the connection, in order. */
  readonly statuses: readonly number[];
  /** How the router left the connection when nothing more came. */
  readonly ended: 'closed' | 'open';
  /** Until the first byte of an answer, or the end without one, in milliseconds. */
  readonly ms: number;
}

export interface RawOptions {
  /** The connection counts as left open when nothing came for this long after an answer, in milliseconds. */
  readonly quietMs?: number;
  /** … and when no answer came at all. */
  readonly patienceMs?: number | undefined;
}

/** Sends bytes as they are and reads until the router closes the connection or says nothing more. */
export function sendRaw(
  port: number,
  bytes: string | Buffer,
  { quietMs = 150, patienceMs = 10_000 }: RawOptions = {},
): Promise<RawAnswer> {
  const begun = performance.now();
  return new Promise((resolve, reject) => {
    let text = '';
    let first = Number.NaN;
    const socket = connect(port, '127.0.0.1');
    let timer = setTimeout(() => finish('open'), patienceMs);
    const finish = (ended: 'closed' | 'open') => {
      clearTimeout(timer);
      socket.destroy();
      const statuses = [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
      const ms = Number.isNaN(first) ? performance.now() - begun : first;
      resolve({ text, statuses, ended, ms });
    };
    socket.on('connect', () => socket.write(bytes));
    socket.on('data', (chunk) => {
      if (Number.isNaN(first)) first = performance.now() - begun;
      text += chunk.toString('latin1');
      clearTimeout(timer);
      timer = setTimeout(() => finish('open'), quietMs);
    });
    socket.on('end', () => finish('closed'));
    socket.on('error', (error: NodeJS.ErrnoException) =>
      error.code === 'ECONNRESET' || error.code === 'EPIPE' ? finish('closed') : reject(error),
    );
  });
}

/** Sends the head and then pieces for as long as the router takes them; gives what it answered and how much it took. */
export function sendEndless(
  port: number,
  head: string,
  piece: Buffer,
  mostBytes: number,
): Promise<RawAnswer & { readonly sent: number }> {
  const begun = performance.now();
  return new Promise((resolve) => {
    let text = '';
    let first = Number.NaN;
    const socket = connect(port, '127.0.0.1');
    let done = false;
    const finish = () => {
      if (done) return;
      done = true;
      socket.destroy();
      const statuses = [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
      const ms = Number.isNaN(first) ? performance.now() - begun : first;
      resolve({ text, statuses, ended: 'closed', ms, sent: socket.bytesWritten });
    };
    socket.on('data', (chunk) => {
      if (Number.isNaN(first)) first = performance.now() - begun;
      text += chunk.toString('latin1');
    });
    for (const event of ['end', 'error', 'close']) socket.on(event, finish);
    socket.on('connect', () => {
      socket.write(head);
      pump(socket, piece, mostBytes, finish);
    });
  });
}

/** Honours backpressure: what is not taken is not held here either. */
function pump(socket: Socket, piece: Buffer, mostBytes: number, finish: () => void): void {
  while (!socket.destroyed) {
    if (socket.bytesWritten > mostBytes) {
      finish();
      return;
    }
    if (!socket.write(piece)) {
      socket.once('drain', () => pump(socket, piece, mostBytes, finish));
      return;
    }
  }
}
