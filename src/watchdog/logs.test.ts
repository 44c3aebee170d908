import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { createFakeClock } from '#test/fixtures/fake-clock.ts';
import { openJournal } from './journal.ts';
import { openRotatingLog } from './rotating-log.ts';
import { settingsFromEnvironment } from './settings.ts';

let folder = '';
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'logs-'));
});
after(() => rm(folder, { recursive: true }));

function fail(error: unknown): never {
  throw error;
}

test('a log stays within its size and its number of files, and loses no recent line', () => {
  const path = join(folder, 'a.log');
  const log = openRotatingLog(path, { maxBytes: 100, keep: 2, onError: fail });
  for (let line = 0; line < 100; line++) log.write(`line ${line}\n`);
  log.close();
  const kept = [`${path}.2`, `${path}.1`, path].map((file) => readFileSync(file, 'utf8'));
  assert.ok(kept.every((text) => text.length <= 110));
  assert.equal(existsSync(`${path}.3`), false);
  const lines = kept.join('').trimEnd().split('\n');
  assert.equal(lines.at(-1), 'line 99');
  assert.deepEqual(
    lines,
    Array.from({ length: lines.length }, (_, index) => `line ${100 - lines.length + index}`),
  );
});

test('a log that was there is continued', () => {
  const path = join(folder, 'b.log');
  for (const text of ['one\n', 'two\n']) {
    const log = openRotatingLog(path, { onError: fail });
    log.write(text);
    log.close();
  }
  assert.equal(readFileSync(path, 'utf8'), 'one\ntwo\n');
});

test('a log that cannot be written reports it once and does not throw', () => {
  const path = join(folder, 'c.log');
  mkdirSync(path);
  let reports = 0;
  const log = openRotatingLog(path, { onError: () => reports++ });
  log.write('x');
  log.write('y');
  assert.equal(reports, 1);
});

test('watchdog.log has one JSON object a line with time, level, event and the manager’s pid', () => {
  const path = join(folder, 'w.log');
  const log = openRotatingLog(path, { onError: fail });
  const journal = openJournal(log, createFakeClock(0), 7);
  journal('warn', 'unexpected_exit', { pid: 8, error: new Error('why') });
  log.close();
  assert.deepEqual(JSON.parse(readFileSync(path, 'utf8')), {
    ts: '1970-01-01T00:00:00.000Z',
    level: 'warn',
    event: 'unexpected_exit',
    managerPid: 7,
    pid: 8,
    error: 'why',
  });
});

test('settings come from the environment, and a wrong one is named', () => {
  const settings = settingsFromEnvironment({
    HEALTH_CHECK_ENABLED: 'false',
    PLOINKY_WATCHDOG_MAX_RESTARTS: '9',
    PLOINKY_WATCHDOG_BACKOFF_MS: '',
  });
  assert.equal(settings.health.enabled, false);
  assert.equal(settings.maxRestarts, 9);
  assert.equal(settings.backoff.initial, 1000);
  assert.throws(
    () => settingsFromEnvironment({ PLOINKY_WATCHDOG_MAX_RESTARTS: 'many' }),
    /PLOINKY_WATCHDOG_MAX_RESTARTS must be a whole number, not "many"/,
  );
});
