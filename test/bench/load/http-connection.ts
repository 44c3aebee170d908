import { connect, type Socket } from 'node:net';
import { AnswerReader, type HttpAnswer, headerOf } from './answer-reader.ts';

/** The connection ended before the answer was complete. */
export class ConnectionLost extends Error {
  override readonly name = 'ConnectionLost';
  /** Something of an answer had come: whoever answers has taken the request. */
  readonly begun: boolean;

  constructor(begun: boolean, cause: unknown) {
    super(`the connection was lost ${begun ? 'in' : 'before'} the answer`, { cause });
    this.begun = begun;
  }
}

/** One kept-alive connection to a port of the loopback, for one request at a time. */
export class HttpConnection {
  readonly #socket: Socket;
  readonly #reader = new AnswerReader();
  readonly #host: string;
  #waiting: { resolve(answer: HttpAnswer): void; reject(error: Error): void; begun: boolean } | undefined;
  #closed: Error | undefined;

  private constructor(socket: Socket, port: number) {
    this.#socket = socket;
    this.#host = `127.0.0.1:${port}`;
    socket.setNoDelay(true);
    socket.on('data', (chunk) => this.#take(chunk));
    socket.on('error', (error) => this.#end(error));
    socket.on('close', () => this.#end(new Error('closed by the other end')));
  }

  /** Rejects with the system's error. */
  static open(port: number): Promise<HttpConnection> {
    const socket = connect({ host: '127.0.0.1', port });
    return new Promise((resolve, reject) => {
      socket.once('error', reject);
      socket.once('connect', () => {
        socket.off('error', reject);
        resolve(new HttpConnection(socket, port));
      });
    });
  }

  /** No request can be sent on it any more. */
  get closed(): boolean {
    return this.#closed !== undefined;
  }

  /** `headers` are whole lines, each with its end. Rejects with ConnectionLost. */
  exchange(method: string, path: string, headers: string, body = ''): Promise<HttpAnswer> {
    if (this.#closed !== undefined) return Promise.reject(new ConnectionLost(false, this.#closed));
    const length = `content-length: ${Buffer.byteLength(body)}\r\n`;
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject, begun: false };
      this.#socket.write(
        `${method} ${path} HTTP/1.1\r\nhost: ${this.#host}\r\n${headers}${length}\r\n${body}`,
      );
    });
  }

  close(): void {
    this.#end(new Error('closed by this end'));
    this.#socket.destroy();
  }

  #take(chunk: Buffer): void {
    if (this.#waiting !== undefined) this.#waiting.begun = true;
    try {
      for (const answer of this.#reader.push(chunk)) {
        const waiting = this.#waiting;
        this.#waiting = undefined;
        if (headerOf(answer.head, 'connection')?.toLowerCase() === 'close') this.close();
        waiting?.resolve(answer);
      }
    } catch (error) {
      this.#end(error instanceof Error ? error : new Error(String(error)));
      this.#socket.destroy();
    }
  }

  #end(error: Error): void {
    this.#closed ??= error;
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.reject(new ConnectionLost(waiting.begun, error));
  }
}
