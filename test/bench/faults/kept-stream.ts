import { setTimeout as sleep } from 'node:timers/promises';
import { Caller, type Tally } from './caller.ts';
import { type OpenStream, openStream } from './event-client.ts';

/** A client that holds the GET stream of its session open and comes back whenever it ends. */
export class KeptStream {
  reopened = 0;
  /** Ends that were none: the stream was cut. */
  cut = 0;
  /** Notifications that lists changed. */
  heard = 0;
  readonly #port: number;
  readonly #path: string;
  readonly #caller: Caller;
  #current: OpenStream | undefined;
  #isOpen = false;
  #closed = false;

  constructor(port: number, path: string, tally: Tally) {
    this.#port = port;
    this.#path = path;
    this.#caller = new Caller({ port, path, tally, resend: true });
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  async start(): Promise<void> {
    await this.#caller.open();
    void this.#follow();
  }

  close(): void {
    this.#closed = true;
    this.#current?.close();
    this.#caller.close();
  }

  async #follow(): Promise<void> {
    const { 'content-type': _type, ...headers } = this.#caller.headers;
    const get = { port: this.#port, path: this.#path, method: 'GET' } as const;
    for (let times = 0; !this.#closed; times += 1) {
      const stream = openStream(
        { ...get, headers: { ...headers, accept: 'text/event-stream' } },
        ({ method }) => {
          if (method === 'notifications/tools/list_changed') this.heard += 1;
        },
      );
      this.#current = stream;
      try {
        this.#isOpen = (await stream.opened) === 200;
        if (this.#isOpen && times > 0) this.reopened += 1;
        const { broken } = await stream.ended;
        if (broken && !this.#closed) this.cut += 1;
      } catch {
        // Nobody took it; it comes back.
      }
      this.#isOpen = false;
      await sleep(20);
    }
  }
}
