import type { Server } from 'node:http';
import type { Clock } from '#kit/clock.ts';
import type { Announcing } from './announce-all.ts';
import type { Settings } from './config/settings.ts';
import type { Changes } from './http/changes.ts';
import type { McpServices } from './mcp/services.ts';
import type { TaskQueue } from './queue/queue.ts';
import type { Source } from './source.ts';

export interface ShutDownOptions extends Announcing {
  readonly server: Server;
  readonly requests: RequestCount;
  readonly source: Source;
  readonly services: McpServices;
  readonly changes: Changes;
  readonly queue: TaskQueue;
  readonly settings: Settings;
  readonly clock: Clock;
}

/** Milliseconds that what runs may take to end after it was killed. */
const killedMs = 1000;
/** Milliseconds that readers of changes have for the last of them. */
const lastChangesMs = 1000;

/**
 * Serves on for a moment, then takes nothing more, lets run what runs, and ends. Tasks that still run are ended, and
 * then interrupted: the next agent-server, which may have the queue once it is closed, runs none beside its last
 * attempt. The changes are told to the last, so that the controller hears how each task ended.
 */
export async function shutDown(running: ShutDownOptions): Promise<void> {
  const { server, source, services, changes, queue, settings, clock } = running;
  if (settings.drainDelayMs > 0) await clock.sleep(settings.drainDelayMs);
  running.stopAnnouncing();
  services.subscriptions.close();
  services.sessions.closeStreams();
  changes.update();
  await drain(running);
  services.sessions.close();
  services.streams.close();
  const closed = source.close();
  await within(clock, settings.killGraceMs + killedMs, [queue.end(), closed]);
  await queue.close();
  running.stopTelling();
  await within(clock, lastChangesMs, [changes.close()]);
  await closed;
  server.closeAllConnections();
}

/** Waits until all has come to its end, well or badly, but no longer than `ms`. */
async function within(clock: Clock, ms: number, all: readonly Promise<unknown>[]): Promise<void> {
  const over = new AbortController();
  const late = clock.sleep(ms, over.signal).catch(() => undefined);
  await Promise.race([Promise.allSettled(all), late]);
  over.abort();
}

/** Milliseconds between two looks at what still runs. */
const lookMs = 20;

/**
 * Takes no more connections and lets what runs finish, for so many milliseconds. Tasks that wait are on disk. Requests are counted and
 * not connections: one that a client opened in advance never becomes idle for Node. Those who listen to changes are not
 * waited for.
 */
async function drain(running: ShutDownOptions): Promise<void> {
  const { server, requests, services, changes, queue, settings, clock } = running;
  const end = clock.monotonic() + settings.drainMs;
  queue.drain();
  server.prependListener('request', (_request, response) => response.setHeader('connection', 'close'));
  server.close();
  const answers = () => requests.count - changes.size > 0;
  const runs = () => answers() || services.streams.running > 0 || queue.counts().running > 0;
  while (clock.monotonic() < end && runs()) await clock.sleep(lookMs);
}

/** Whether tasks run or wait. */
export function isBusy(queue: TaskQueue): boolean {
  const { running, pending } = queue.counts();
  return running > 0 || pending > 0;
}

export interface RequestCount {
  count: number;
}

/** Counts the requests that are being answered. */
export function countRequests(server: Server): RequestCount {
  const running = { count: 0 };
  server.prependListener('request', (_request, response) => {
    running.count += 1;
    response.once('close', () => {
      running.count -= 1;
    });
  });
  return running;
}
