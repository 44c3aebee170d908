import type { Clock } from '#kit/clock.ts';

/** What a router knows of the others. */
export interface PeerBook {
  /** A sign of life, good until then (epoch milliseconds). True when the peer wants a greeting. */
  alive(address: string, until: number): boolean;
  /** It said goodbye: what it still answers, it answers for about a minute. */
  left(address: string): void;
  /** It is about to be greeted: it counts as reachable from now on. True when it had not been. */
  greeting(address: string): boolean;
  /** Its answer to a greeting came. */
  met(address: string): void;
  /** It did not answer: nobody waits for it again until it shows life. */
  lost(address: string): void;
  /** Those that are told what happens. */
  reachable(): readonly string[];
}

interface Peer {
  until: number;
  /** A greeting is on its way. */
  greeting: boolean;
  met: boolean;
  lost: boolean;
  left: boolean;
}

/** Longer than a router takes to end, in milliseconds. */
const leavingMs = 60_000;

/**
 * Pure bookkeeping. A peer that answers is never dropped, whatever its Lease says: the API may be away while the
 * routers serve on. One that does not answer, or said goodbye, is dropped when its time is over.
 */
export function createPeerBook(clock: Pick<Clock, 'now'>): PeerBook {
  const peers = new Map<string, Peer>();

  function dropDead(): void {
    const now = clock.now();
    for (const [address, { until, lost, left }] of peers) {
      if ((lost || left) && until <= now) peers.delete(address);
    }
  }
  return {
    alive(address, until) {
      dropDead();
      const known = peers.get(address);
      if (until <= clock.now()) return false;
      const peer = known ?? { until, greeting: false, met: false, lost: false, left: false };
      peers.set(address, Object.assign(peer, { until, left: false }));
      return !peer.greeting && (peer.lost || !peer.met);
    },
    left(address) {
      const peer = peers.get(address);
      if (peer !== undefined) Object.assign(peer, { left: true, until: clock.now() + leavingMs });
    },
    greeting(address) {
      const peer = peers.get(address);
      if (peer === undefined) return false;
      const { lost } = peer;
      Object.assign(peer, { greeting: true, lost: false });
      return lost;
    },
    met(address) {
      const peer = peers.get(address);
      if (peer !== undefined) Object.assign(peer, { greeting: false, met: true });
    },
    lost(address) {
      const peer = peers.get(address);
      if (peer !== undefined) Object.assign(peer, { greeting: false, lost: true });
    },
    reachable() {
      dropDead();
      return [...peers].filter(([, { lost }]) => !lost).map(([address]) => address);
    },
  };
}
