import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { payloadOf, type Writer } from './writer.ts';

/** What the medium itself takes: a line is appended and flushed, and nothing can be found again. */
export function openFlushes(folder: string): Writer {
  const file = openSync(join(folder, 'lines.jsonl'), 'a');
  return {
    add(number) {
      writeSync(file, `${JSON.stringify(payloadOf(number))}\n`);
      fdatasyncSync(file);
    },
    close: () => closeSync(file),
  };
}
