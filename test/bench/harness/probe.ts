import { createConnection } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Scope } from './scope.ts';

export interface Lag {
  /** Milliseconds that the event loop was late. */
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
  readonly count: number;
}

/** Bytes. */
export interface Memory {
  readonly heapUsed: number;
  readonly heapTotal: number;
  /** What objects of the heap hold outside of it. */
  readonly external: number;
  readonly rss: number;
}

/** What a process says of itself; see programs/probe.mjs. */
export interface Probe {
  readonly nodeFlags: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  heap(): Promise<Memory>;
  /** After free pages were given back, which V8 else keeps. */
  floor(): Promise<Memory>;
  /** Since the last time it was asked. */
  lag(): Promise<Lag>;
  /** Timers, sockets and what else keeps it alive, counted by kind. */
  resources(): Promise<Readonly<Record<string, number>>>;
}

let serial = 0;

export function createProbe(scope: Scope, options: { readonly ballastMiB?: number } = {}): Probe {
  const socket = join(scope.folder, `probe${++serial}.sock`);
  const ask = async (word: string) => {
    const connection = createConnection(socket);
    connection.write(word);
    return JSON.parse(await text(connection));
  };
  return {
    nodeFlags: ['--expose-gc', '--import', join(import.meta.dirname, '../programs/probe.mjs')],
    env: { PROBE_SOCKET: socket, PROBE_BALLAST_MIB: String(options.ballastMiB ?? 0) },
    heap: () => ask('heap'),
    floor: () => ask('floor'),
    lag: () => ask('lag'),
    resources: () => ask('resources'),
  };
}
