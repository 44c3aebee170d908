import { isIP, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { readOpening } from './client-hello.ts';
import type { Target } from './decide.ts';
import { EgressRefusal } from './errors.ts';

/** A fatal TLS alert, unrecognized_name (RFC 6066, section 3), which programs can tell people. */
const unrecognizedName = Buffer.from([21, 3, 3, 0, 2, 2, 112]);

/**
 * Passes on what the client sends, once its beginning is known to be for the host that it asked for: TLS for another
 * server name would reach whatever else lives at that host's address. Calls back, and passes nothing on, when it is not.
 */
export function pipeChecked(
  client: Duplex,
  server: Socket,
  target: Target,
  onRefused: (refusal: EgressRefusal) => void,
): void {
  let held = Buffer.alloc(0);
  const settle = () => client.off('data', onData).off('end', onEnd);
  const onEnd = () => server.end(held);
  const onData = (chunk: Buffer) => {
    held = Buffer.concat([held, chunk]);
    const opening = readOpening(held);
    if (opening.type === 'more') return;
    settle();
    const refusal = opening.type === 'other' ? undefined : refusalOf(opening, target);
    if (refusal === undefined) {
      server.write(held);
      client.pipe(server);
      return;
    }
    client.end(unrecognizedName);
    server.destroy();
    onRefused(refusal);
  };
  client.on('data', onData).on('end', onEnd);
}

function refusalOf(
  opening:
    | { readonly type: 'hello'; readonly serverName: string | undefined }
    | { readonly type: 'malformed' },
  { host, port }: Target,
): EgressRefusal | undefined {
  if (opening.type === 'malformed')
    return new EgressRefusal(
      'ServerName',
      `the TLS connection to ${host}:${port} begins in a way that cannot be read`,
    );
  const { serverName } = opening;
  // An address has no name to compare with, and a client that names none gets the host's own.
  if (serverName === undefined || isIP(host) !== 0 || isSameName(serverName, host)) return undefined;
  return new EgressRefusal(
    'ServerName',
    `the TLS connection to ${host}:${port} asks for the server "${serverName.slice(0, 253)}", which is another one`,
  );
}

function isSameName(one: string, other: string): boolean {
  const plain = (name: string) => name.toLowerCase().replace(/\.$/, '');
  return plain(one) === plain(other);
}
