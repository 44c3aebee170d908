import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Clock } from '#kit/clock.ts';
import { changesBinding } from '#wire/binding.ts';
import type { AgentServerChange } from '#wire/changes.ts';
import type { Guard } from '../mcp/guard.ts';
import { allowOnly, type Handler } from './app.ts';

export const agentServerVersion = '0.1.0';
/** Milliseconds between pings. */
const pingMs = 15_000;

export type StateLine = Extract<AgentServerChange, { type: 'state' }>;

/** GET /changes: the agent-server's state now and at each change, one JSON object a line. */
export interface Changes {
  readonly handler: Handler;
  /** Sends the state again if it differs from what was sent last. */
  update(): void;
  /** Sends another line to whoever listens now. */
  tell(line: AgentServerChange): void;
  /** Streams that are open. */
  readonly size: number;
  /** Ends the streams. Resolves when what was told is on its way to those who read. */
  close(): Promise<void>;
}

export interface ChangesOptions {
  readonly clock: Clock;
  readonly guard: Guard;
  readonly instance: string;
  readonly state: () => StateLine;
  readonly maxStreams: number;
  /** Bytes that may wait for one reader; one that leaves more unread is cut off, and hears the state when it comes back. */
  readonly maxUnreadBytes: number;
  /** What is told at the beginning of a stream besides the state. Default: nothing. */
  readonly beginning?: () => Promise<readonly AgentServerChange[]>;
}

export function createChanges(options: ChangesOptions): Changes {
  const streams = new Set<ServerResponse>();
  let last = '';
  let cancelPing = options.clock.after(pingMs, ping);

  function tell(line: AgentServerChange): void {
    for (const stream of streams) {
      if (stream.writableLength > options.maxUnreadBytes) stream.destroy();
      else writeLine(stream, line);
    }
  }
  function ping(): void {
    tell({ type: 'ping' });
    cancelPing = options.clock.after(pingMs, ping);
  }
  return {
    handler(request, response) {
      if (!allowOnly(request, response, 'GET')) return;
      options.guard.admit(request, changesBinding);
      if (streams.size >= options.maxStreams) {
        response.writeHead(503).end();
        return;
      }
      response.writeHead(200, { 'content-type': 'application/x-ndjson', 'cache-control': 'no-store' });
      writeLine(response, { type: 'hello', version: agentServerVersion, instance: options.instance });
      writeLine(response, options.state());
      streams.add(response);
      response.once('close', () => streams.delete(response));
      void tellBeginning(response, options);
    },
    update() {
      const state = options.state();
      const line = JSON.stringify(state);
      if (line === last) return;
      last = line;
      tell(state);
    },
    tell,
    get size() {
      return streams.size;
    },
    async close() {
      cancelPing();
      const ends = [...streams].map((stream) => once(stream, 'close').catch(() => undefined));
      for (const stream of streams) stream.end();
      await Promise.all(ends);
    },
  };
}

async function tellBeginning(response: ServerResponse, { beginning }: ChangesOptions): Promise<void> {
  // What cannot be read now is asked for when it is needed.
  const lines = (await beginning?.().catch(() => [])) ?? [];
  for (const line of lines) writeLine(response, line);
}

function writeLine(response: ServerResponse, line: AgentServerChange): void {
  response.write(`${JSON.stringify(line)}\n`);
}
