import type { Duplex, Readable } from 'node:stream';
import { encodeFrame, encodeJsonFrame } from '../tools/spawner-protocol.ts';

/** The spawner's side of the connection: sends frames and holds sources back while it is congested. */
export interface Link {
  send(type: number, id: number, payload?: Uint8Array): void;
  sendJson(type: number, id: number, value: unknown): void;
  /** Sends, and pauses `source` until the connection has drained if it is congested. */
  relay(type: number, id: number, payload: Uint8Array, source: Readable): void;
}

export function createLink(connection: Duplex): Link {
  const paused = new Set<Readable>();
  connection.on('drain', () => {
    for (const source of paused) source.resume();
    paused.clear();
  });
  return {
    send(type, id, payload) {
      connection.write(encodeFrame(type, id, payload));
    },
    sendJson(type, id, value) {
      connection.write(encodeJsonFrame(type, id, value));
    },
    relay(type, id, payload, source) {
      if (connection.write(encodeFrame(type, id, payload))) return;
      source.pause();
      paused.add(source);
    },
  };
}
