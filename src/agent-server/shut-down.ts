import type { Server } from 'node:http';
import type { Clock } from '#kit/clock.ts';
import type { Settings } from './config/settings.ts';
import type { Changes } from './http/changes.ts';
import type { McpServices } from './mcp/services.ts';
import type { TaskQueue } from './queue/queue.ts';
import type { Source } from './source.ts';

export interface ShutDownOptions {
  readonly server: Server;
  readonly requests: RequestCount;
  readonly source: Source;
  readonly services: McpServices;
  readonly changes: Changes;
  readonly queue: TaskQueue;
  readonly stopAnnouncing: () => void;
  readonly settings: Settings;
  readonly clock: Clock;
}

/** Serves on for a moment, then takes nothing more, lets run what runs, and ends. Tasks that still run are interrupted. */
export async function shutDown(running: ShutDownOptions): Promise<void> {
  const { server, source, services, changes, queue, settings, clock } = running;
  if (settings.drainDelayMs > 0) await clock.sleep(settings.drainDelayMs);
  running.stopAnnouncing();
  services.subscriptions.close();
  services.sessions.closeStreams();
  changes.close();
  await drain(running);
  services.sessions.close();
  services.streams.close();
  await queue.close();
  await source.close();
  server.closeAllConnections();
}

/** Milliseconds between two looks at what still runs. */
const lookMs = 20;

/**
 * Takes no more connections and lets what runs finish, for so many milliseconds. Tasks that wait are on disk. Requests are counted and
 * not connections: one that a client opened in advance never becomes idle for Node.
 */
async function drain({ server, requests, services, queue, settings, clock }: ShutDownOptions): Promise<void> {
  const end = clock.monotonic() + settings.drainMs;
  queue.drain();
  server.prependListener('request', (_request, response) => response.setHeader('connection', 'close'));
  server.close();
  const runs = () => requests.count > 0 || services.streams.running > 0 || queue.counts().running > 0;
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
