import { join } from 'node:path';
import { type BetterSqlite, flushEachCommit, importPeer } from './peers.ts';
import { payloadOf, type Writer } from './writer.ts';

interface Plainjob {
  better(database: BetterSqlite): object;
  defineQueue(options: { readonly connection: object; readonly logger: object }): {
    add(type: string, data: unknown): unknown;
    close(): void;
  };
}

interface BetterSqlite3 {
  readonly default: new (path: string) => BetterSqlite;
}

const silent = { error() {}, warn() {}, info() {}, debug() {} };

export async function openPlainjob(folder: string, peers: string): Promise<Writer> {
  const { better, defineQueue } = await importPeer<Plainjob>(peers, 'plainjob');
  const { default: Database } = await importPeer<BetterSqlite3>(peers, 'better-sqlite3');
  const database = new Database(join(folder, 'plainjob.sqlite'));
  const queue = defineQueue({ connection: better(database), logger: silent });
  flushEachCommit(database);
  return {
    add: (number) => queue.add('work', payloadOf(number)),
    close: () => queue.close(),
  };
}
