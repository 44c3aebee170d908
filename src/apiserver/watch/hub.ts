import type { Clock } from '#kit/clock.ts';
import { ApiError } from '../api-error.ts';
import type { Storage } from '../kinds/kind.ts';
import type { Limits } from '../limits.ts';
import type { ApiObject } from '../object.ts';
import type { Change, Entry } from '../store/history.ts';
import type { Store } from '../store/store.ts';

export type EventType = 'ADDED' | 'MODIFIED' | 'DELETED';

/** How a watcher wants its events written: encoders that are equal share their text. */
export interface EventEncoder {
  /** One line of the stream, newline included. */
  line(type: EventType, entry: Entry): string;
  bookmark(version: number, initialEventsEnd: boolean): string;
}

/** Where a watcher's lines go. */
export interface WatchSink {
  write(text: string): void;
  /** Bytes accepted but not yet taken by the peer. */
  buffered(): number;
  /** Ends the stream; `abrupt` when the peer does not read. */
  end(abrupt: boolean): void;
}

export interface WatchRequest {
  readonly storage: Storage;
  /** Only keys that begin so. */
  readonly prefix: string;
  readonly selects: ((object: ApiObject) => boolean) | undefined;
  readonly encoder: EventEncoder;
  readonly sink: WatchSink;
  readonly bookmarks: boolean;
}

interface Watcher extends WatchRequest {
  /** Every change up to here was sent or did not concern the watcher. */
  version: number;
}

/** Hands each acknowledged change to the watchers it concerns. */
export class WatchHub {
  readonly #watchers = new Map<string, Set<Watcher>>();
  readonly #store: Store;
  readonly #limits: Limits;
  #count = 0;
  #cancelBookmarks: () => void = () => undefined;

  constructor(store: Store, limits: Limits, clock: Clock) {
    this.#store = store;
    this.#limits = limits;
    store.onChange((storage, changes) => this.#publish(storage, changes));
    this.#scheduleBookmarks(clock);
  }

  /** Watches open now. */
  get count(): number {
    return this.#count;
  }

  /**
   * Starts a watch after `version`; `initial` lines were sent by the caller. Throws 429 over the limit and
   * 410 when changes after `version` are no longer known. The returned function ends it.
   */
  open(request: WatchRequest, version: number): () => void {
    if (this.#count >= this.#limits.watches)
      throw new ApiError('TooManyRequests', `too many watches: at most ${this.#limits.watches} at once`, {
        retryAfterSeconds: 5,
      });
    const missed = this.#store.history(request.storage).since(version);
    if (missed === undefined)
      throw new ApiError(
        'Expired',
        `too old resource version: ${version} (${this.#store.history(request.storage).oldest})`,
      );
    const watcher: Watcher = { ...request, version };
    const set = this.#watchers.get(request.storage.id) ?? new Set();
    this.#watchers.set(request.storage.id, set);
    set.add(watcher);
    this.#count += 1;
    this.#send(watcher, missed);
    return () => this.#drop(watcher);
  }

  /** Ends every watch, politely or by cutting the connection. */
  closeAll(abrupt = false): void {
    for (const set of this.#watchers.values())
      for (const watcher of [...set]) {
        this.#drop(watcher);
        watcher.sink.end(abrupt);
      }
  }

  close(): void {
    this.#cancelBookmarks();
    this.closeAll();
  }

  /** Sends a bookmark at the present version to every watcher that asked for bookmarks. */
  sendBookmarks(): void {
    for (const set of this.#watchers.values())
      for (const watcher of set)
        if (watcher.bookmarks && this.#store.version >= watcher.version)
          watcher.sink.write(watcher.encoder.bookmark(this.#store.version, false));
  }

  #publish(storage: Storage, changes: readonly Change[]): void {
    for (const watcher of this.#watchers.get(storage.id) ?? []) this.#send(watcher, changes);
  }

  #send(watcher: Watcher, changes: readonly Change[]): void {
    let text = '';
    for (const change of changes) {
      if (change.version <= watcher.version || !change.key.startsWith(watcher.prefix)) continue;
      text += lineOf(watcher, change);
      watcher.version = change.version;
    }
    if (text !== '') watcher.sink.write(text);
    if (watcher.sink.buffered() <= this.#limits.watchBufferBytes) return;
    this.#drop(watcher);
    watcher.sink.end(true);
  }

  #drop(watcher: Watcher): void {
    if (this.#watchers.get(watcher.storage.id)?.delete(watcher)) this.#count -= 1;
  }

  #scheduleBookmarks(clock: Clock): void {
    this.#cancelBookmarks = clock.after(this.#limits.bookmarkSeconds * 1000, () => {
      this.sendBookmarks();
      this.#scheduleBookmarks(clock);
    });
  }
}

/** What a change is to a watcher: entering its selection is ADDED, leaving it is DELETED. */
function lineOf(watcher: Watcher, change: Change): string {
  const { selects, encoder } = watcher;
  const was = change.before !== undefined && (selects === undefined || selects(change.before.object));
  const is = change.after !== undefined && (selects === undefined || selects(change.after.object));
  if (is) return encoder.line(was ? 'MODIFIED' : 'ADDED', change.last);
  return was ? encoder.line('DELETED', change.last) : '';
}
