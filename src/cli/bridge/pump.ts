import type { IncomingMessage } from 'node:http';
import { createSseDecoder } from '#mcp/sse.ts';
import { readIncoming } from './message.ts';

/** Where a stream of events was, to go on from there. */
export interface StreamPlace {
  lastEventId: string | undefined;
  /** What the server asks to wait before coming back, in milliseconds. */
  retryMs: number | undefined;
}

export interface PumpOptions {
  readonly place: StreamPlace;
  readonly maxMessageBytes: number;
  /** A message with its line. True: it was what the stream was for, and no more is to be read. */
  deliver(message: Record<string, unknown>, line: string): boolean;
  /** Resolves when there is room for more. */
  drained(): Promise<void>;
}

/** Delivers the messages of an event stream until its end, or the one that it was for. False: it ended before. */
export async function pump(response: IncomingMessage, options: PumpOptions): Promise<boolean> {
  const { place, maxMessageBytes, deliver, drained } = options;
  const decoder = createSseDecoder(maxMessageBytes);
  for await (const chunk of response) {
    for (const { data, id, retry } of decoder.push(chunk as Buffer)) {
      if (id !== undefined) place.lastEventId = id;
      if (retry !== undefined) place.retryMs = retry;
      // An event without data only tells the place.
      const incoming = data === '' ? undefined : readIncoming(data);
      if (incoming !== undefined && deliver(incoming.message, incoming.line)) return true;
    }
    await drained();
  }
  return false;
}
