import type { Ended } from '../mcp/sessions.ts';
import { createPeerBook } from './book.ts';
import { createExchange, type ExchangeOptions } from './exchange.ts';

/** Where the other routers are: their Leases in the product, a variable in tests. */
export interface PeerSource {
  /** Resolves when all that are there were heard of. */
  readonly synced: Promise<void>;
  /** Calls back for each that is there and at each sign of life; not for this router itself. Returns the stop function. */
  subscribe(handler: (event: PeerEvent) => void): () => void;
}

export type PeerEvent =
  /** `until` in epoch milliseconds. */
  | { readonly type: 'alive'; readonly address: string; readonly until: number }
  | { readonly type: 'left'; readonly address: string };

/** The other routers of this cluster, which learn of ended sessions from each other. */
export interface Peers {
  /** False until every router that was there had the time to say which sessions have ended. */
  readonly ready: boolean;
  /** Begins: this router takes messages at this address, `IP:PORT`. */
  start(address: string): void;
  /** Resolves when every router that answers at all has confirmed, within `limits.peerTimeoutMs`. Never rejects. */
  tellEnded(session: Ended): Promise<void>;
  /** The answer to a message that came to a path, or undefined when no router sent it. */
  receive(path: string, message: string): string | undefined;
  close(): Promise<void>;
}

export interface PeersOptions extends Omit<ExchangeOptions, 'self' | 'book'> {
  readonly source: PeerSource;
}

/** A router that is alone, as on a laptop. */
export const noPeers: Peers = {
  ready: true,
  start: () => undefined,
  tellEnded: async () => undefined,
  receive: () => undefined,
  close: async () => undefined,
};

/** Between two looks whether the keys have come, in milliseconds. */
const lookForKeysMs = 20;

export function createPeers(options: PeersOptions): Peers {
  const { source, keys, limits, clock, log } = options;
  const stopped = new AbortController();
  let self = '';
  let ready = false;
  let unsubscribe = () => {};
  const book = createPeerBook(clock);
  const exchange = createExchange({ ...options, book, self: () => self });

  async function meetAll(): Promise<void> {
    while (!keys.ready) await clock.sleep(lookForKeysMs, stopped.signal);
    await Promise.race([source.synced, clock.sleep(limits.peerListTimeoutMs, stopped.signal)]);
    const first: Promise<void>[] = [];
    unsubscribe = source.subscribe((event) => {
      if (event.address === self) return;
      if (event.type === 'left') book.left(event.address);
      else if (book.alive(event.address, event.until)) {
        const met = exchange.greet(event.address);
        if (!ready) first.push(met);
      }
    });
    await Promise.all(first);
    ready = true;
  }
  return {
    get ready() {
      return ready;
    },
    start(address) {
      self = address;
      meetAll().catch((error) => {
        if (!stopped.signal.aborted) log.error('the other routers cannot be followed', { error });
      });
    },
    tellEnded: ({ key, expires }) => exchange.tell({ key, expires }),
    receive: (path, message) => exchange.receive(path, message),
    async close() {
      stopped.abort();
      unsubscribe();
      await exchange.close();
    },
  };
}
