import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, it } from 'node:test';
import { readLog } from './log-file.ts';

/**
 * A log of five transactions, in which the third is longer than one page, where each of them ends, and the same file
 * after all was carried over and one more transaction was written at its beginning.
 */
function makeLog(): { log: Buffer; ends: number[]; reused: Buffer } {
  const folder = mkdtempSync(join(tmpdir(), 'log-file-'));
  const path = join(folder, 'some.sqlite');
  const database = new DatabaseSync(path);
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE t (a INTEGER, b TEXT)');
  const ends = [readFileSync(`${path}-wal`).length];
  for (const [number, length] of [10, 9_000, 10, 10].entries()) {
    database.prepare('INSERT INTO t VALUES (?, ?)').run(number, 'x'.repeat(length));
    ends.push(readFileSync(`${path}-wal`).length);
  }
  const log = readFileSync(`${path}-wal`);
  database.exec("PRAGMA wal_checkpoint(FULL); INSERT INTO t VALUES (9, 'y')");
  const reused = readFileSync(`${path}-wal`);
  database.close();
  rmSync(folder, { recursive: true });
  return { log, ends, reused };
}

const { log, ends, reused } = makeLog();
const turned = (offset: number) => {
  const copy = Buffer.from(log);
  copy[offset] = (copy[offset] ?? 0) ^ 4;
  return copy;
};
const [, secondEnd = 0, , fourthEnd = 0, lastEnd = 0] = ends;

describe('the reading of a log', () => {
  it('finds every transaction of a whole one, wherever it ends', () => {
    assert.equal(readLog(log).state, 'whole');
    assert.equal(readLog(log).frames.filter(({ commit }) => commit > 0).length, 5);
    for (const end of [0, ...ends]) assert.equal(readLog(log.subarray(0, end)).state, 'whole');
  });

  it('takes an end that was not written whole for torn, at every byte', () => {
    for (let end = fourthEnd + 1; end < lastEnd; end += 1) {
      assert.equal(readLog(log.subarray(0, end)).state, 'torn', `cut at ${end}`);
    }
    assert.equal(readLog(turned(lastEnd - 1)).state, 'torn');
    const unwritten = Buffer.from(log);
    unwritten.fill(0, fourthEnd, fourthEnd + 512);
    assert.equal(readLog(unwritten).state, 'torn');
  });

  it('takes a place that cannot be read for damage when what was acknowledged follows it, at every byte', () => {
    for (let offset = 32; offset < fourthEnd; offset += 1) {
      assert.equal(readLog(turned(offset)).state, 'damaged', `turned at ${offset}`);
    }
    for (let offset = 0; offset < 32; offset += 1) {
      assert.equal(readLog(turned(offset)).state, 'damaged', `turned at ${offset} of the header`);
    }
  });

  it('reads on behind a damaged place', () => {
    const { frames } = readLog(turned(secondEnd + 30));
    const whole = frames.filter(({ chained, current }) => chained && current);
    assert.equal(whole.length, frames.length - 1);
  });

  it('does not take what an earlier use of the file left behind for a part of it', () => {
    const { frames, state } = readLog(reused);
    assert.ok(reused.length >= lastEnd);
    assert.equal(state, 'whole');
    assert.ok(frames.filter(({ chained, current }) => chained && current).length < 5);
  });
});
