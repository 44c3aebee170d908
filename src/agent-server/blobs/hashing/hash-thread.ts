import type { Worker } from 'node:worker_threads';
import { messageOf } from '#kit/errors.ts';
import { BlobError } from '../errors.ts';
import type { FromHashThread, ToHashThread } from './thread.ts';

type Asked = PromiseWithResolvers<FromHashThread>;

/** A running thread as the agent-server's own sees it. */
export class HashThread {
  readonly #worker: Worker;
  /** In the order in which they are answered. */
  #asked: Asked[] = [];
  #failure: BlobError | undefined;

  constructor(worker: Worker) {
    this.#worker = worker;
    // It holds nobody up who wants to end.
    worker.unref();
    worker.on('message', (answer: FromHashThread) => this.#asked.shift()?.resolve(answer));
    worker.on('messageerror', (error) => this.#fail(error));
    worker.on('error', (error) => this.#fail(error));
    worker.on('exit', () => this.#fail(undefined));
  }

  /** Nothing can be asked any more. */
  get isOver(): boolean {
    return this.#failure !== undefined;
  }

  /** Rejects with BlobError when the thread ends, or has ended. */
  ask(message: ToHashThread): Promise<FromHashThread> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    const asked = Promise.withResolvers<FromHashThread>();
    this.#asked.push(asked);
    this.#worker.postMessage(message);
    return asked.promise;
  }

  drop(upload: number): void {
    if (this.#failure === undefined)
      this.#worker.postMessage({ type: 'drop', upload } satisfies ToHashThread);
  }

  end(): void {
    this.#fail(undefined);
    // An end that fails has nobody who could do anything about it.
    void this.#worker.terminate().catch(() => undefined);
  }

  #fail(error: unknown): void {
    const why = error === undefined ? '' : `: ${messageOf(error)}`;
    this.#failure ??= new BlobError('StoreFailed', `What computes digests has ended${why}`, { cause: error });
    for (const asked of this.#asked.splice(0)) asked.reject(this.#failure);
  }
}
