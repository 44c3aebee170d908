import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { openRotatingLog } from './log-file.ts';

describe('openRotatingLog', () => {
  let folder: string;
  let path: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'log-'));
    path = join(folder, 'a.log');
  });
  afterEach(() => rmSync(folder, { recursive: true }));
  const write = (texts: readonly string[]) =>
    new Promise<void>((resolve) => {
      const log = openRotatingLog({ path, maxBytes: 10, keep: 2 });
      for (const text of texts) log.write(text);
      log.end(resolve);
    });

  it('appends to what is there, for its owner only', async () => {
    writeFileSync(path, 'one\n', { mode: 0o600 });
    await write(['two\n']);
    assert.equal(readFileSync(path, 'utf8'), 'one\ntwo\n');
    assert.equal(statSync(path).mode & 0o777, 0o600);
  });
  it('moves a full file aside, keeps two and forgets the oldest', async () => {
    await write(['aaaaaaaa', 'bbbbbbbb', 'cccccccc', 'dddddddd']);
    const read = (suffix: string) => readFileSync(path + suffix, 'utf8');
    assert.deepEqual([read(''), read('.1'), read('.2')], ['dddddddd', 'cccccccc', 'bbbbbbbb']);
    assert.equal(existsSync(`${path}.3`), false);
  });
  it('keeps its file open, and no other, when it cannot begin the next one', async () => {
    mkdirSync(`${path}~`);
    const log = openRotatingLog({ path, maxBytes: 10, keep: 2 });
    for (const text of ['aaaaaaaa', 'bbbbbbbb', 'cccccccc']) log.write(text);
    rmSync(`${path}~`, { recursive: true });
    log.write('dddddddd');
    await new Promise<void>((resolve) => log.end(resolve));
    const read = (suffix: string) => readFileSync(path + suffix, 'utf8');
    assert.deepEqual([read(''), read('.1')], ['dddddddd', 'aaaaaaaa']);
  });
  it('has no secret value in it, wherever the writes are cut', async () => {
    const value = 'value-that-nobody-sees';
    await new Promise<void>((resolve) => {
      const log = openRotatingLog({ path, maxBytes: 1000, keep: 2, redact: [value] });
      for (const text of ['a value-', 'that-nobody', '-sees b value-that']) log.write(text);
      log.end(resolve);
    });
    assert.equal(readFileSync(path, 'utf8'), 'a [redacted] b value-that');
  });
  it('takes a single write that is larger than a file', async () => {
    await write(['x'.repeat(50), 'y']);
    assert.equal(readFileSync(path, 'utf8'), 'y');
    assert.equal(readFileSync(`${path}.1`, 'utf8').length, 50);
  });
});
