import type { Clock } from '#kit/clock.ts';
import type { Terminal } from '../terminal.ts';

export interface Progress {
  readonly at: (bytes: number) => void;
  /** Takes the line away. */
  readonly end: () => void;
}

const everyMs = 200;

/** One line on a terminal that says how far it is; nothing elsewhere. `all` in bytes, where it is known. */
export function showProgress(terminal: Terminal, clock: Clock, all: number | undefined): Progress {
  if (!terminal.interactive) return { at: () => undefined, end: () => undefined };
  const began = clock.monotonic();
  let shown = Number.NEGATIVE_INFINITY;
  return {
    at(bytes) {
      const now = clock.monotonic();
      if (now - shown < everyMs) return;
      shown = now;
      const rate = bytes / Math.max(0.001, (now - began) / 1000);
      const part = all ? ` of ${sizeText(all)} (${Math.floor((100 * bytes) / all)} %)` : '';
      terminal.writeNote(`\r\u001b[K${sizeText(bytes)}${part}, ${sizeText(rate)}/s`);
    },
    end: () => terminal.writeNote('\r\u001b[K'),
  };
}

/** Bytes for people. */
export function sizeText(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}
