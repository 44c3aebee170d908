import type { Readable } from 'node:stream';

/** Longest line that either end of a control socket sends. */
const maxLine = 64 * 1024;

/** Calls back for each line of a stream. One that never ends is cut off with its stream. */
export function onLines(stream: Readable, onLine: (line: string) => void): void {
  let rest = '';
  stream.setEncoding('utf8');
  stream.on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) onLine(line);
    if (rest.length > maxLine) stream.destroy();
  });
}
