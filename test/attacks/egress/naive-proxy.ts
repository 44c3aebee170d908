import { createServer, type IncomingMessage, request as sendRequest } from 'node:http';
import { connect } from 'node:net';

/**
 * The control: a proxy that connects wherever it is told. It looks a name up once to see whether it likes the address,
 * as many programs do, and a second time to connect.
 */
export async function startNaiveProxy(socket: string, lookUp: (name: string) => string): Promise<void> {
  const place = (host: string) => {
    const bare = host.replace(/^\[|\]$/g, '');
    lookUp(bare);
    return lookUp(bare);
  };
  const server = createServer((request, response) => {
    const { hostname, port, path, host } = sloppyTarget(request);
    const options = { host: place(hostname), port: Number(port || 80), path, headers: { host } };
    const outgoing = sendRequest(options, (answer) => answer.pipe(response));
    outgoing.on('error', () => response.destroy()).end();
  });
  server.on('connect', (request, client) => {
    const [, host = '', port = '443'] = /(?:.*@)?(.+?)(?::(\d+))?$/.exec(request.url ?? '') ?? [];
    const outside = connect({ host: place(host), port: Number(port) }, () => {
      client.write('HTTP/1.1 200 OK\r\n\r\n');
      client.pipe(outside).pipe(client);
    });
    outside.on('error', () => client.destroy());
    client.on('error', () => outside.destroy());
  });
  await new Promise<void>((resolve) => server.listen(socket, resolve));
}

/** Reads the target as URLs are read, or takes the Host header's word. */
function sloppyTarget({ url = '', headers }: IncomingMessage) {
  const base = `http://${headers.host ?? ''}`;
  const parsed = URL.canParse(url, base) ? new URL(url, base) : new URL(base);
  return {
    ...{ hostname: parsed.hostname, port: parsed.port, path: parsed.pathname },
    host: headers.host ?? parsed.host,
  };
}
