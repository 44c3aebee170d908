import { isIP } from 'node:net';
import { backoffDelay } from '#kit/backoff.ts';
import type { Clock } from '#kit/clock.ts';
import { messageOf } from '#kit/errors.ts';
import type { Log } from '#kit/log.ts';
import type { HostPort } from '../options.ts';

export interface FollowAddressOptions {
  readonly address: HostPort;
  /** Addresses of a name; empty or an error: it has none now. */
  readonly resolve: (name: string) => Promise<readonly string[]>;
  readonly clock: Clock;
  readonly log: Log;
  /** Ends the following. */
  readonly signal: AbortSignal;
  /** Between two looks, in milliseconds. Default 30,000. */
  readonly refreshMs?: number;
  /** Called when the name no longer leads to what was answered. */
  readonly onChange: (address: string) => void;
}

const retry = { initial: 250, max: 10_000 };

/**
 * The `address:port`, with an IP address, of a Service: pods of agents have no DNS. Waits until the name resolves and
 * looks again from time to time; an answer stays for as long as it is one of the name's. Rejects only by the signal.
 */
export async function followAddress(options: FollowAddressOptions): Promise<string> {
  const { address, clock, signal, refreshMs = 30_000 } = options;
  if (isIP(address.host) !== 0) return format(address.host, address.port);
  const first = await resolveFirst(options);
  const look = async () => {
    const found = await options.resolve(address.host).catch((): readonly string[] => []);
    const [other] = found;
    if (other === undefined || found.includes(first)) watch();
    else if (!signal.aborted) options.onChange(format(other, address.port));
  };
  const watch = () => {
    clock.sleep(refreshMs, signal).then(look, () => undefined);
  };
  watch();
  return format(first, address.port);
}

async function resolveFirst({ address, resolve, clock, log, signal }: FollowAddressOptions): Promise<string> {
  for (let failures = 1; ; failures += 1) {
    signal.throwIfAborted();
    try {
      const [found] = await resolve(address.host);
      if (found !== undefined) return found;
      log.warn('a name has no address yet', { host: address.host });
    } catch (error) {
      log.warn('a name cannot be resolved yet', { host: address.host, error: messageOf(error) });
    }
    await clock.sleep(backoffDelay(retry, failures), signal);
  }
}

function format(address: string, port: number): string {
  return isIP(address) === 6 ? `[${address}]:${port}` : `${address}:${port}`;
}
