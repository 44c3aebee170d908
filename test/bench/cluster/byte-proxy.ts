import { connect, createServer } from 'node:net';
import type { Scope } from '../harness/scope.ts';
import type { ServiceAccount } from './service-account.ts';

/** A way to the API server that counts what comes from it, TLS and all. */
export interface ByteProxy {
  /** Of this host: the API server's certificate must be good for 127.0.0.1. */
  readonly port: number;
  received(): number;
}

export async function startByteProxy(scope: Scope, { host, port }: ServiceAccount): Promise<ByteProxy> {
  let received = 0;
  const server = createServer((client) => {
    const upstream = connect(Number(port), host);
    upstream.on('data', (chunk: Buffer) => {
      received += chunk.length;
    });
    client.pipe(upstream).pipe(client);
    const end = () => {
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) socket.on('error', end).on('close', end);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  scope.defer(() => server.close());
  const address = server.address();
  const own = typeof address === 'object' && address !== null ? address.port : 0;
  return { port: own, received: () => received };
}
