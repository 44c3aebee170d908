import type { Clock } from '#kit/clock.ts';
import { messageOf } from '#kit/errors.ts';
import type { Log } from '#kit/log.ts';
import type { RouterKeys } from '../keys.ts';
import type { RouterLimits } from '../limits.ts';
import type { Ended, Sessions } from '../mcp/sessions.ts';
import type { PeerBook } from './book.ts';
import { openEnded, openGreeting, peerPaths, sealEnded, sealGreeting } from './messages.ts';
import { createMessenger } from './messenger.ts';

export interface ExchangeOptions {
  readonly book: PeerBook;
  readonly sessions: Pick<Sessions, 'end' | 'lastEnded'>;
  readonly keys: Pick<RouterKeys, 'ready' | 'sessionSeal'>;
  readonly limits: RouterLimits;
  readonly clock: Clock;
  readonly log: Log;
  /** Where this router is reached, `IP:PORT`. */
  readonly self: () => string;
}

/** Who introduced itself counts so long before its Lease has to be seen, in milliseconds. */
const introducedMs = 45_000;

/** What routers say to each other and what they answer. Sending never rejects; the keys have to be there. */
export function createExchange(options: ExchangeOptions) {
  const { book, sessions, keys, limits, clock, log, self } = options;
  const messenger = createMessenger(clock, { connectTimeoutMs: limits.peerListTimeoutMs });

  async function send(address: string, path: string, message: string, timeoutMs: number) {
    try {
      return await messenger.post(address, path, message, timeoutMs);
    } catch (error) {
      book.lost(address);
      log.debug('another router cannot be reached', { address, error: messageOf(error) });
      return undefined;
    }
  }
  /** True when a router said it. */
  function remember(purpose: 'peer-ended' | 'peer-list', message: string): boolean {
    const ended = openEnded(keys.sessionSeal, purpose, message, clock.now());
    for (const session of ended ?? []) sessions.end(session);
    return ended !== undefined;
  }
  /**
   * Both know each other from the moment on that the receiver answers: a session that ended before is in its
   * answer, of one that ends later it tells.
   */
  async function greet(address: string): Promise<void> {
    const missed = book.greeting(address);
    const greeting = sealGreeting(keys.sessionSeal, { from: self(), missed }, clock.now());
    const answer = await send(address, peerPaths.list, greeting, limits.peerListTimeoutMs);
    const understood = answer?.split('\n').map((line) => remember('peer-list', line));
    if (understood?.every((line) => line)) book.met(address);
    else book.lost(address);
  }
  function answerGreeting(message: string): string | undefined {
    const greeting = openGreeting(keys.sessionSeal, message, clock.now());
    if (greeting === undefined || greeting.from === self()) return undefined;
    const isNew = book.alive(greeting.from, clock.now() + introducedMs);
    // What one that is ending says while its Lease is gone already would be missed otherwise.
    if (isNew || greeting.missed) void greet(greeting.from);
    const ended = sessions.lastEnded(limits.peerList);
    return sealEnded(keys.sessionSeal, 'peer-list', ended, clock.now()).join('\n');
  }
  return {
    greet,
    async tell(ended: Ended): Promise<void> {
      const told = book.reachable();
      if (told.length === 0) return;
      const [message = ''] = sealEnded(keys.sessionSeal, 'peer-ended', [ended], clock.now());
      await Promise.all(told.map((address) => send(address, peerPaths.ended, message, limits.peerTimeoutMs)));
    },
    receive(path: string, message: string): string | undefined {
      if (!keys.ready) return undefined;
      if (path === peerPaths.list) return answerGreeting(message);
      return path === peerPaths.ended && remember('peer-ended', message) ? '' : undefined;
    },
    close: () => messenger.close(),
  };
}
