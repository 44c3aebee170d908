import type { Usage } from '../limits.ts';
import type { Room } from '../room.ts';

/** A blob as a listing of the bucket shows it. */
export interface Counted {
  readonly id: string;
  readonly bytes: number;
}

/**
 * Keeps the usage of a bucket right that others change as well. A listing shows what they did; of blobs that this replica
 * itself brings or removes meanwhile it knows better than a listing, which may show them or not.
 */
export interface Ledger {
  /** An upload has its place; false: one of this id is under way already. */
  coming(id: string, room: Room): boolean;
  /** It can be found from now on. */
  came(id: string, bytes: number): void;
  /** It came to nothing: its place is free. */
  failed(id: string): void;
  /** Before what it is found by is removed. */
  leaving(id: string, bytes: number): void;
  /** It is removed: its place is free. */
  left(id: string): void;
  /** It is not removed after all. */
  stays(id: string): void;
  /** A listing begins; what is given counts the blobs when it has ended, and is called without when it failed. */
  listing(): (listed?: Iterable<Counted>) => void;
}

interface Place {
  readonly bytes: () => number;
  readonly room?: Room;
  /** Bringing or removing it has not ended. */
  readonly open: boolean;
}

export function createLedger(usage: Usage): Ledger {
  /** What counts in place of what is listed; undefined: it is gone. */
  const known = new Map<string, Place | undefined>();
  const isComing = (id: string) => known.get(id)?.room !== undefined;
  let listings = 0;
  const settle = (id: string, place: Place | undefined) => {
    if (listings > 0) known.set(id, place);
    else known.delete(id);
  };
  return {
    coming(id, room) {
      if (isComing(id)) return false;
      known.set(id, { bytes: () => room.held, room, open: true });
      return true;
    },
    came: (id, bytes) => settle(id, { bytes: () => bytes, open: false }),
    failed(id) {
      known.get(id)?.room?.giveBack();
      settle(id, undefined);
    },
    leaving(id, bytes) {
      if (!isComing(id)) known.set(id, { bytes: () => bytes, open: true });
    },
    left(id) {
      const place = known.get(id);
      if (place === undefined || place.room !== undefined) return;
      usage.release(place.bytes());
      usage.end();
      settle(id, undefined);
    },
    stays(id) {
      const place = known.get(id);
      if (place !== undefined && place.room === undefined) settle(id, { ...place, open: false });
    },
    listing() {
      listings += 1;
      return (listed) => {
        listings -= 1;
        if (listed !== undefined) usage.set(...sum(listed, known));
        for (const [id, place] of [...known]) if (place?.open !== true && listings === 0) known.delete(id);
      };
    },
  };
}

function sum(listed: Iterable<Counted>, known: ReadonlyMap<string, Place | undefined>): [number, number] {
  let [bytes, blobs] = [0, 0];
  for (const one of listed) if (!known.has(one.id)) [bytes, blobs] = [bytes + one.bytes, blobs + 1];
  for (const place of known.values())
    if (place !== undefined) [bytes, blobs] = [bytes + place.bytes(), blobs + 1];
  return [bytes, blobs];
}
