import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Log, LogFields } from '#kit/log.ts';

/** A folder for a queue of its own, inside one that is gone after the test. */
export function queueFolder(t: TestContext): string {
  const place = mkdtempSync(join(tmpdir(), 'queue-'));
  t.after(() => rmSync(place, { recursive: true, force: true }));
  return join(place, '.tasksQueue');
}

/** What is on disk now: as when the process that has the folder open is killed. */
export function copyOf(t: TestContext, folder: string): string {
  const copy = queueFolder(t);
  cpSync(folder, copy, { recursive: true });
  return copy;
}

export interface Line {
  readonly level: string;
  readonly message: string;
  readonly fields: LogFields | undefined;
}

/** A log that is looked at. */
export function listLog(): { readonly log: Log; readonly lines: Line[] } {
  const lines: Line[] = [];
  const at = (level: string) => (message: string, fields?: LogFields) => {
    lines.push({ level, message, fields });
  };
  const log: Log = {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    with: () => log,
  };
  return { log, lines };
}
