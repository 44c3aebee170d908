import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { until } from '#test/fixtures/fake-clock.ts';
import type { RouterOptions } from '../app.ts';
import { createPeerServer } from '../peers/listener.ts';
import type { PeerEvent, PeerSource } from '../peers/peers.ts';
import { startTestRouter, type TestRouter } from './harness.ts';

/** Stands for the Leases: says who is there to whoever asks, and to all at each sign of life. */
export interface Directory {
  readonly source: PeerSource;
  alive(address: string): void;
  leave(address: string): void;
}

export function createDirectory(): Directory {
  const there = new Set<string>();
  const handlers = new Set<(event: PeerEvent) => void>();
  const tell = (event: PeerEvent) => {
    for (const handler of handlers) handler(event);
  };
  const sign = (address: string): PeerEvent => ({ type: 'alive', address, until: Date.now() + 45_000 });
  return {
    source: {
      synced: Promise.resolve(),
      subscribe(handler) {
        handlers.add(handler);
        for (const address of there) handler(sign(address));
        return () => handlers.delete(handler);
      },
    },
    alive(address) {
      there.add(address);
      tell(sign(address));
    },
    leave(address) {
      there.delete(address);
      tell({ type: 'left', address });
    },
  };
}

export interface TestPeer extends TestRouter {
  /** Where it takes messages of other routers. */
  readonly address: string;
  /** Stops to take them; what comes is refused at once. */
  fallSilent(): Promise<void>;
  /** Takes them again at the same address. */
  comeBack(): Promise<void>;
}

/** A router with others around, ready; the agent `demo` is the same as seen from each. It is in the directory when told so. */
export async function startPeer(
  t: TestContext,
  directory: Directory,
  options: Partial<RouterOptions> & { readonly announced?: boolean } = {},
): Promise<TestPeer> {
  const { announced = true, ...given } = options;
  const router = await startTestRouter(t, [{ name: 'demo' }], { peers: directory.source, ...given });
  const { services } = router;
  let server = createPeerServer(services.peers, services.limits);
  const listen = async (port: number) => {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
  };
  const fallSilent = async () => {
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  };
  t.after(() => server.listening && fallSilent());
  await listen(0);
  const { port } = server.address() as AddressInfo;
  const address = `127.0.0.1:${port}`;
  services.peers.start(address);
  await until(() => services.peers.ready, 'the router has met the others');
  if (announced) directory.alive(address);
  return {
    ...router,
    address,
    fallSilent,
    async comeBack() {
      server = createPeerServer(services.peers, services.limits);
      await listen(port);
    },
  };
}
