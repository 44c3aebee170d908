import { connect, createServer, type Server, type Socket } from 'node:net';
import type { AgentServerConfig } from '#api/agent-server-config.ts';
import { messageOf } from '#kit/errors.ts';
import type { Log } from '#kit/log.ts';
import { AgentServerError } from '../errors.ts';

type Forward = AgentServerConfig['forwards'][number];

/** Bytes of a request head that a proxy forward waits for. */
const maxHeadBytes = 16 * 1024;

/**
 * Opens the loopback listeners that lead out of a workload without network: each connection's bytes go to
 * the target unchanged, but for the credential that a proxy forward puts into the first request's head.
 * Rejects when a port is taken. Returns the function that closes them.
 */
export async function openForwards(forwards: readonly Forward[], log: Log): Promise<() => void> {
  const servers = await Promise.all(forwards.map((forward) => openForward(forward, log)));
  return () => servers.forEach(closeServer);
}

function closeServer(server: Server): void {
  server.close();
}

function openForward(forward: Forward, log: Log): Promise<Server> {
  const server = createServer({ allowHalfOpen: true }, (inside) => {
    const outside = connectTarget(forward.target);
    outside.once('error', (error) => {
      log.warn('A forward cannot reach its target', {
        listen: forward.listen,
        target: forward.target,
        error,
      });
    });
    tieTogether(inside, outside);
    if (forward.proxyAuthorization === undefined) inside.pipe(outside);
    else pipeWithCredential(inside, outside, forward.proxyAuthorization);
    outside.pipe(inside);
  });
  return new Promise((resolve, reject) => {
    server.once('error', (error) => {
      const text = `Port ${forward.listen} of the loopback cannot be opened: ${messageOf(error)}`;
      reject(new AgentServerError('InvalidConfig', text, { cause: error }));
    });
    server.listen({ host: '127.0.0.1', port: forward.listen }, () => resolve(server));
  });
}

/** `unix:/path` or `host:port`. */
function connectTarget(target: string): Socket {
  if (target.startsWith('unix:')) return connect({ path: target.slice(5), allowHalfOpen: true });
  const colon = target.lastIndexOf(':');
  const host = target.slice(0, colon).replace(/^\[|\]$/g, '');
  return connect({ host, port: Number(target.slice(colon + 1)), allowHalfOpen: true });
}

function tieTogether(one: Socket, other: Socket): void {
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const) {
    from.on('error', () => to.destroy());
    from.once('close', () => to.destroyed || to.end());
  }
}

/** Waits for the end of the first head, puts the credential in place of any that is there, then pipes. */
function pipeWithCredential(inside: Socket, outside: Socket, credential: string): void {
  let held = Buffer.alloc(0);
  const onData = (chunk: Buffer) => {
    held = Buffer.concat([held, chunk]);
    const end = held.indexOf('\r\n\r\n');
    if (end === -1) {
      if (held.length > maxHeadBytes) inside.destroy();
      return;
    }
    inside.off('data', onData);
    outside.write(withCredential(held.toString('latin1', 0, end), credential), 'latin1');
    outside.write(held.subarray(end));
    inside.pipe(outside);
  };
  inside.on('data', onData);
  inside.once('end', () => outside.end());
}

function withCredential(head: string, credential: string): string {
  const [first = '', ...lines] = head.split('\r\n');
  const kept = lines.filter((line) => !/^proxy-authorization\s*:/i.test(line));
  return [first, `Proxy-Authorization: ${credential}`, ...kept].join('\r\n');
}
