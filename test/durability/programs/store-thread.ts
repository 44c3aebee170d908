import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';
import { pass } from './failpoints.ts';

// The store's thread with failpoints around what it does to the disk.

function before(sql: string): void {
  if (sql.startsWith('BEGIN')) pass('before-write');
  if (sql === 'COMMIT') pass('after-write');
}
function after(sql: string): void {
  if (sql === 'COMMIT') pass('after-commit');
}
const { exec, prepare } = DatabaseSync.prototype;
DatabaseSync.prototype.exec = function execWithFailpoints(sql: string): void {
  before(sql);
  exec.call(this, sql);
  after(sql);
};
DatabaseSync.prototype.prepare = function prepareWithFailpoints(sql: string) {
  const statement = prepare.call(this, sql);
  if (!/^(BEGIN|COMMIT)/.test(sql)) return statement;
  const run = statement.run.bind(statement);
  statement.run = () => {
    before(sql);
    const changes = run();
    after(sql);
    return changes;
  };
  return statement;
};
const { renameSync } = fs;
fs.renameSync = (from, to) => {
  pass('before-rename');
  renameSync(from, to);
  pass('after-rename');
};
syncBuiltinESMExports();

const { serveStore } = await import('#agent-server/queue/store/thread.ts');
if (parentPort !== null) serveStore(parentPort, workerData);
