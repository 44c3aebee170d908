import { join } from 'node:path';
import { type BetterSqlite, flushEachCommit, importPeer } from './peers.ts';
import { payloadOf, type Writer } from './writer.ts';

interface Client {
  /** Drizzle's way to the database. */
  readonly session: { readonly client: BetterSqlite };
}

interface Liteque {
  buildDBClient(path: string, options: { readonly runMigrations: boolean }): Client;
  readonly SqliteQueue: new (
    name: string,
    client: Client,
    options: { readonly defaultJobArgs: { readonly numRetries: number }; readonly keepFailedJobs: boolean },
  ) => { enqueue(payload: unknown): Promise<unknown> };
}

export async function openLiteque(folder: string, peers: string): Promise<Writer> {
  const { buildDBClient, SqliteQueue } = await importPeer<Liteque>(peers, 'liteque');
  const client = buildDBClient(join(folder, 'liteque.sqlite'), { runMigrations: true });
  flushEachCommit(client.session.client);
  const queue = new SqliteQueue('work', client, { defaultJobArgs: { numRetries: 0 }, keepFailedJobs: true });
  return {
    add: (number) => queue.enqueue(payloadOf(number)),
    close: () => client.session.client.close(),
  };
}
