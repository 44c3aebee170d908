import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** A package of test/peers. What of it is used must be said by whoever asks. */
export async function importPeer<T>(peers: string, name: string): Promise<T> {
  const { resolve } = createRequire(join(peers, 'package.json'));
  return (await import(pathToFileURL(resolve(name)).href)) as T;
}

export interface BetterSqlite {
  pragma(text: string, options?: { readonly simple: boolean }): unknown;
  close(): void;
}

/** Neither queue flushes each commit by itself; without that nothing would be durable, and the comparison unfair. */
export function flushEachCommit(database: BetterSqlite): void {
  database.pragma('synchronous = FULL');
  if (database.pragma('synchronous', { simple: true }) !== 2)
    throw new Error('it does not flush each commit');
}
