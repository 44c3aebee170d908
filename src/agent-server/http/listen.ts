import type { Server } from 'node:net';
import { AgentServerError } from '../errors.ts';

/** Where to listen: an inherited descriptor, a Unix socket, or host and port. */
export type ListenTarget =
  | { readonly type: 'fd'; readonly fd: number }
  | { readonly type: 'socket'; readonly path: string }
  | { readonly type: 'tcp'; readonly host: string; readonly port: number };

/** `host:port`, `[v6]:port` or `:port` (loopback). Throws Usage. */
export function parseHostPort(text: string): ListenTarget {
  const match = /^(?:\[([0-9a-fA-F:]+)\]|([^:]*)):(\d{1,5})$/.exec(text);
  if (match === null || Number(match[3]) > 65_535) {
    throw new AgentServerError('Usage', `--listen must be HOST:PORT, not ${JSON.stringify(text)}`);
  }
  return { type: 'tcp', host: match[1] ?? (match[2] || '127.0.0.1'), port: Number(match[3]) };
}

/** True for a port that other machines may reach: this is a pod, not a sandbox of this machine. */
export function isOpenToOthers(target: ListenTarget): boolean {
  if (target.type !== 'tcp') return false;
  return target.host !== 'localhost' && target.host !== '::1' && !target.host.startsWith('127.');
}

/**
 * Connections that wait to be accepted. A router opens many at once when it begins, and several may: of a socket in
 * the file system the kernel refuses what finds no place. Said for an inherited one too: node would set 511.
 */
const backlog = 4096;

/** Resolves to where it listens, as text for people. */
export function listen(server: Server, target: ListenTarget): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    const onListening = () => {
      server.off('error', reject);
      resolve(addressText(server));
    };
    if (target.type === 'fd') server.listen({ fd: target.fd }, backlog, onListening);
    else if (target.type === 'socket') server.listen({ path: target.path }, backlog, onListening);
    else server.listen({ host: target.host, port: target.port, backlog }, onListening);
  });
}

function addressText(server: Server): string {
  const address = server.address();
  if (address === null) return 'inherited socket';
  if (typeof address === 'string') return `unix:${address}`;
  return address.family === 'IPv6'
    ? `[${address.address}]:${address.port}`
    : `${address.address}:${address.port}`;
}
