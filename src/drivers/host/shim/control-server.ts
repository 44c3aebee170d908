import { createServer, type Server, type Socket } from 'node:net';
import { onLines } from '../lines.ts';
import type { WorkloadRecord } from './record-file.ts';
import { listenAt } from './sockets.ts';

/** One line of JSON from shim to driver: now, and at each change. */
export interface StateLine {
  readonly state: ShimState;
  readonly record: WorkloadRecord;
}

export type ShimState = 'starting' | 'running' | 'stopping' | 'ended';

/** One line of JSON from driver to shim. */
export interface CommandLine {
  readonly command: 'stop';
  readonly graceMs?: number;
}

export interface ControlServer {
  publish(line: StateLine): void;
  /** Ends every connection after what was published is sent, and the socket. */
  close(): Promise<void>;
}

/**
 * Serves the shim's control socket. A connected driver sees the state at once and at every change; its
 * connection closing means that the shim is gone.
 */
export async function serveControl(
  path: string,
  first: StateLine,
  onCommand: (command: CommandLine) => void,
): Promise<ControlServer> {
  const clients = new Set<Socket>();
  let last = first;
  const server = createServer((client) => {
    clients.add(client);
    client.on('error', () => client.destroy());
    client.on('close', () => clients.delete(client));
    client.write(`${JSON.stringify(last)}\n`);
    onLines(client, (line) => {
      const command = parseCommand(line);
      if (command !== undefined) onCommand(command);
    });
  });
  await listenAt(server, path);
  return {
    publish(line) {
      last = line;
      for (const client of clients) client.write(`${JSON.stringify(line)}\n`);
    },
    close: () => closeAll(server, clients),
  };
}

function parseCommand(line: string): CommandLine | undefined {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value !== 'object' || value === null || !('command' in value)) return undefined;
    if (value.command !== 'stop') return undefined;
    const graceMs = 'graceMs' in value && typeof value.graceMs === 'number' ? value.graceMs : undefined;
    return { command: 'stop', ...(graceMs === undefined ? {} : { graceMs }) };
  } catch {
    return undefined;
  }
}

async function closeAll(server: Server, clients: Set<Socket>): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  for (const client of clients) {
    client.end();
    client.setTimeout(1_000, () => client.destroy());
  }
  await closed;
}
