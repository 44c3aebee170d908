import { connect, type Socket } from 'node:net';
import { messageOf } from '#kit/errors.ts';
import { EgressRefusal } from './errors.ts';

/** Connects to the first of `addresses` that accepts, each within `timeoutMs`. Never resolves a name. */
export async function dial(
  addresses: readonly string[],
  port: number,
  timeoutMs: number,
): Promise<{ readonly socket: Socket; readonly address: string }> {
  const failures: { address: string; error: unknown }[] = [];
  for (const address of addresses) {
    try {
      return { socket: await connectTo(address, port, timeoutMs), address };
    } catch (error) {
      failures.push({ address, error });
    }
  }
  const [first] = failures;
  if (first?.error instanceof EgressRefusal) throw first.error;
  const tried = failures.map(({ address, error }) => `${address}: ${messageOf(error)}`).join('; ');
  throw new EgressRefusal('Unreachable', `could not connect (${tried})`, { cause: first?.error });
}

function connectTo(address: string, port: number, timeoutMs: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: address, port, allowHalfOpen: true, noDelay: true });
    const timer = setTimeout(() => {
      socket.destroy(new EgressRefusal('Timeout', `${address} did not accept within ${timeoutMs} ms`));
    }, timeoutMs);
    socket.once('connect', () => {
      clearTimeout(timer);
      socket.removeAllListeners('error');
      resolve(socket);
    });
    socket.once('error', (error) => {
      clearTimeout(timer);
      reject(error);
    });
  });
}
