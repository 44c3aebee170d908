import { type IncomingMessage, request } from 'node:http';
import type { Random } from '#kit/random.ts';
import { bindHandOver } from './binding.ts';
import { type ConnectOptions, connectProven } from './connect.ts';
import { WireError } from './errors.ts';
import type { AgentIdentity } from './keys.ts';
import { mintInvocation } from './token.ts';

/** POST: what a remote upstream is asked with from now on. */
export const handOverPath = '/upstream-secrets';

export interface HandOverOptions extends ConnectOptions {
  readonly agent: AgentIdentity;
  readonly random: Random;
  /** Milliseconds since the epoch; asked when the connection stands, which can take a while. */
  readonly now: () => number;
  readonly secrets: object;
}

/**
 * Gives new secrets to an agent-server that runs, over a connection that has proved who it is. They go in clear: for
 * Unix sockets alone. Throws ConnectFailed and ProofFailed; Refused by an agent-server that takes none at all, NotTaken by one
 * that may another time.
 */
export async function handOver(options: HandOverOptions): Promise<void> {
  const { agent, instance, random, now, secrets } = options;
  const { socket, key } = await connectProven(options);
  const call = bindHandOver(secrets);
  const caller = 'controller:first-party';
  const token = mintInvocation(key, { agent, instance, caller, user: null, call, now: now(), random });
  try {
    const status = await new Promise<number>((resolve, reject) => {
      const outgoing = request({
        createConnection: () => socket,
        method: 'POST',
        path: handOverPath,
        headers: {
          host: 'agent',
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
          connection: 'close',
        },
      });
      outgoing.setTimeout(options.timeoutMs ?? 5_000, () => outgoing.destroy(new Error('no answer in time')));
      outgoing.once('error', reject);
      outgoing.once('response', (incoming: IncomingMessage) => {
        incoming.resume();
        resolve(incoming.statusCode ?? 0);
      });
      outgoing.end(JSON.stringify(secrets));
    });
    if (status === 204) return;
    const code = status === 404 || status === 405 ? 'Refused' : 'NotTaken';
    throw new WireError(code, `${instance} takes no secrets: HTTP ${status}`);
  } finally {
    socket.destroy();
  }
}
