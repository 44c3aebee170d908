import { createSocket } from 'node:dgram';
import { createServer as createWebServer } from 'node:http';
import { createServer, type Server } from 'node:net';
import { createInterface } from 'node:readline';
import { readOpening } from '#egress/client-hello.ts';
import { startEgressProxy } from '#egress/proxy.ts';
import { silentLog } from '#kit/log.ts';
import { addresses, hostile, openPorts, privateAddresses, trapPorts } from './addresses.ts';
import { startNaiveProxy } from './naive-proxy.ts';

// A network of its own: an allowed host, traps everywhere else, the egress proxy at a socket and, as the control, one at
// another socket that connects wherever it is told. Arguments: the two sockets. Prints `ready`; a line on its stdin
// is answered by what has been counted so far, as JSON; ends with its stdin.

/** What the traps have seen. */
export interface Counts {
  /** Connections and datagrams at traps. */
  trap: number;
  /** Handshakes at the allowed host for its own name. */
  allowed: number;
  /** Handshakes at the allowed host for another server name. */
  otherServer: number;
  /** Requests at the allowed host with another Host. */
  otherHost: number;
  /** Names that were looked up. */
  lookups: string[];
}

const [guarded = '', naive = ''] = process.argv.slice(2);
const counts: Counts = { trap: 0, allowed: 0, otherServer: 0, otherHost: 0, lookups: [] };
const times = new Map<string, number>();

await Promise.all([serveAllowed(), ...traps()]);
const rules = ['allowed.test', ...Object.keys(hostile)].map((host) => ({ host, ports: [...openPorts] }));
await startEgressProxy({
  listen: { socket: guarded },
  lookup: (namespace, name) => [{ namespace, name, purpose: 'run', token: 'token', rules }],
  resolve: async (name) => [lookUp(name)],
  log: silentLog,
});
await startNaiveProxy(naive, lookUp);
process.stdout.write('ready\n');
for await (const _line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(counts)}\n`);
}
process.exit(0);

function lookUp(name: string): string {
  counts.lookups.push(name);
  if (name === 'allowed.test') return addresses.allowed;
  if (name === 'trap.test') return addresses.trap;
  const [first, later = first] = hostile[name] ?? [];
  const before = times.get(name) ?? 0;
  times.set(name, before + 1);
  return (before === 0 ? first : later) ?? name;
}

async function serveAllowed(): Promise<void> {
  const tls = createServer((socket) => {
    socket
      .on('error', () => undefined)
      .once('data', (bytes) => {
        const opening = readOpening(bytes);
        if (opening.type === 'hello')
          counts[opening.serverName === 'allowed.test' ? 'allowed' : 'otherServer'] += 1;
        socket.end('hello from the allowed host');
      });
  });
  const web = createWebServer((request, response) => {
    if (request.headers.host !== 'allowed.test') counts.otherHost += 1;
    response.end('page of the allowed host');
  });
  await listen(tls, 443, addresses.allowed);
  await listen(web, 80, addresses.allowed);
}

function traps(): Promise<void>[] {
  const at = (port: number, address: string) => {
    const server = createServer((socket) => {
      counts.trap += 1;
      socket.on('error', () => undefined).end('caught');
    });
    return listen(server, port, address);
  };
  const datagrams = createSocket('udp4').on('message', () => {
    counts.trap += 1;
  });
  return [
    ...trapPorts.map((port) => at(port, addresses.trap)),
    ...trapPorts.filter((port) => !openPorts.includes(port)).map((port) => at(port, addresses.allowed)),
    ...privateAddresses.flatMap((address) => openPorts.map((port) => at(port, address))),
    new Promise<void>((resolve) => datagrams.bind(53, addresses.trap, resolve)),
  ];
}

function listen(server: Server, port: number, address: string): Promise<void> {
  return new Promise((resolve, reject) => server.once('error', reject).listen(port, address, resolve));
}
