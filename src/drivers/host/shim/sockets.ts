import { chmodSync, renameSync, rmSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import type { Relay } from '../shim-plan.ts';

/**
 * Listens on a Unix socket at `path`, replacing what is there. The socket is made under a temporary name and
 * renamed, so that closing the server later (which unlinks the name it was made with) leaves `path` alone.
 */
export async function listenAt(server: Server, path: string, mode = 0o600): Promise<void> {
  const temporary = `${path}~`;
  rmSync(temporary, { force: true });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(temporary, () => {
      server.off('error', reject);
      resolve();
    });
  });
  chmodSync(temporary, mode);
  renameSync(temporary, path);
}

/** A listening server whose descriptor can be given to a child; it never accepts a connection itself. */
export async function listenForChild(path: string): Promise<Server> {
  const server = createServer({ pauseOnConnect: true });
  await listenAt(server, path);
  return server;
}

/**
 * Serves `relay.listen` by connecting each client to whatever listens at `relay.target` at that moment:
 * a bind mount of the target itself would go stale when its owner restarts.
 */
export async function openRelay(relay: Relay, mode: number, maxConnections = 256): Promise<Server> {
  const server = createServer({ allowHalfOpen: true }, (inside) => join(inside, relay.target));
  server.maxConnections = maxConnections;
  await listenAt(server, relay.listen, mode);
  return server;
}

function join(inside: Socket, target: string): void {
  const outside = connect({ path: target, allowHalfOpen: true });
  const drop = () => {
    inside.destroy();
    outside.destroy();
  };
  inside.on('error', drop);
  outside.on('error', drop);
  inside.on('close', () => outside.destroy());
  outside.on('close', () => inside.destroy());
  inside.pipe(outside);
  outside.pipe(inside);
}
