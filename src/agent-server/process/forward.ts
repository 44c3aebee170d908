import { connect, createServer, type Server, type Socket } from 'node:net';
import type { AgentServerConfig } from '#api/agent-server-config.ts';
import { messageOf } from '#kit/errors.ts';
import type { Log } from '#kit/log.ts';
import { AgentServerError } from '../errors.ts';

type Forward = AgentServerConfig['forwards'][number];

/** Bytes of a request head that a proxy forward waits for. */
const maxHeadBytes = 16 * 1024;

export interface Forwards {
  /** Takes over targets and credentials for the ports that are open; connections that are open go on. */
  use(forwards: readonly Forward[]): void;
  close(): void;
}

/**
 * Opens the loopback listeners that lead out of a workload without network: each connection's bytes go to
 * the target unchanged, but for the credential that a proxy forward puts into the first request's head.
 * Rejects when a port is taken.
 */
export async function openForwards(forwards: readonly Forward[], log: Log): Promise<Forwards> {
  const current = new Map(forwards.map((forward) => [forward.listen, forward]));
  const servers = await Promise.all(
    forwards.map((first) => openForward(first.listen, () => current.get(first.listen) ?? first, log)),
  );
  return {
    use(next) {
      for (const forward of next) if (current.has(forward.listen)) current.set(forward.listen, forward);
    },
    close() {
      for (const server of servers) server.close();
    },
  };
}

function openForward(port: number, current: () => Forward, log: Log): Promise<Server> {
  const server = createServer({ allowHalfOpen: true }, (inside) => {
    const { target, proxyAuthorization } = current();
    const outside = connectTarget(target);
    outside.once('error', (error) => {
      log.warn('A forward cannot reach its target', { listen: port, target, error });
    });
    tieTogether(inside, outside);
    if (proxyAuthorization === undefined) inside.pipe(outside);
    else pipeWithCredential(inside, outside, proxyAuthorization);
    outside.pipe(inside);
  });
  return new Promise((resolve, reject) => {
    server.once('error', (error) => {
      const text = `Port ${port} of the loopback cannot be opened: ${messageOf(error)}`;
      reject(new AgentServerError('InvalidConfig', text, { cause: error }));
    });
    server.listen({ host: '127.0.0.1', port }, () => resolve(server));
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
