import type { Clock } from '#kit/clock.ts';
import { isEventStream } from '../mcp-http.ts';
import type { Link } from './link.ts';
import { pump, type StreamPlace } from './pump.ts';
import type { SessionKeeper } from './session.ts';

const pauseMs = { first: 1_000, most: 15_000 };

/**
 * The stream on which a server of the sessions era sends of its own accord (list_changed, requests): kept open, and
 * opened again where it was, until the signal. Ends by itself where the server has none.
 */
export async function followServer(parts: {
  readonly link: Link;
  readonly session: SessionKeeper;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly maxMessageBytes: number;
  send(line: string): void;
  drained(): Promise<void>;
}): Promise<void> {
  const { link, session, clock, signal, maxMessageBytes, send, drained } = parts;
  const place: StreamPlace = { lastEventId: undefined, retryMs: undefined };
  let used = session.current;
  for (let pause = pauseMs.first; !signal.aborted; ) {
    if (session.current !== used) {
      used = session.current;
      place.lastEventId = undefined;
    }
    const outcome = await openOnce().catch(() => 'broken' as const);
    if (outcome === 'none') return;
    pause = outcome === 'ended' ? pauseMs.first : Math.min(pause * 2, pauseMs.most);
    await clock.sleep(place.retryMs ?? pause, signal).catch(() => undefined);
  }

  async function openOnce(): Promise<'none' | 'ended' | 'broken'> {
    const from = place.lastEventId === undefined ? {} : { 'last-event-id': place.lastEventId };
    const headers = { ...session.headers(), accept: 'text/event-stream', ...from };
    const response = await link.send({ method: 'GET', headers, signal, repeatable: true });
    if (isEventStream(response) && response.statusCode === 200) {
      await pump(response, {
        place,
        maxMessageBytes,
        drained,
        deliver: (_message, line) => {
          send(line);
          return false;
        },
      });
      return 'ended';
    }
    response.resume();
    if (response.statusCode === 404 && used !== undefined) {
      await session.renew(used);
      return 'ended';
    }
    return (response.statusCode ?? 500) >= 500 ? 'broken' : 'none';
  }
}
