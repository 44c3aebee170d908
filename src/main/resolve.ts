import { lookup } from 'node:dns/promises';

/** The addresses of a name as this machine resolves it, IPv4 first. Rejects when it has none. */
export async function resolveByMachine(name: string): Promise<readonly string[]> {
  const found = await lookup(name, { all: true, order: 'ipv4first' });
  return found.map(({ address }) => address);
}
