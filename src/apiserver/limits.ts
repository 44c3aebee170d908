/** Every bound of the server. All can be set; these are the defaults. */
export interface Limits {
  /** Bytes of a request body. More is answered 413. */
  readonly bodyBytes: number;
  /** Items of one list answer when the client asks for no limit; further pages come by `continue`. */
  readonly listItems: number;
  /** Changes kept in memory per kind: how far back a watch can resume. */
  readonly historyChanges: number;
  /** Bytes that a slow watcher may leave unread before its connection is closed. */
  readonly watchBufferBytes: number;
  /** Watches open at once. More are answered 429. */
  readonly watches: number;
  /** Connections open at once, on each listener. */
  readonly connections: number;
  /** Writes that share one commit. */
  readonly batchWrites: number;
  /** How long a watch lives when the client does not say, in seconds; up to twice as long, spread at random. */
  readonly watchSeconds: number;
  /** Seconds between bookmarks. */
  readonly bookmarkSeconds: number;
  /** Seconds an Event is kept after its last change. */
  readonly eventSeconds: number;
  /** Milliseconds a client may take to send a whole request. */
  readonly requestMilliseconds: number;
}

export const defaultLimits: Limits = {
  bodyBytes: 3 * 1024 * 1024,
  listItems: 100_000,
  historyChanges: 2048,
  watchBufferBytes: 8 * 1024 * 1024,
  watches: 1000,
  connections: 2000,
  batchWrites: 256,
  watchSeconds: 1800,
  bookmarkSeconds: 60,
  eventSeconds: 3600,
  requestMilliseconds: 60_000,
};
