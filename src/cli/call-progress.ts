import { harmless, type Terminal } from './terminal.ts';

/** Shows how far a call is, in a line that is drawn again; only on a terminal. */
export interface CallProgress {
  /** The members of a progress notification. */
  show(params: Readonly<Record<string, unknown>>): void;
  /** A line of its own above it. */
  say(line: string): void;
  /** Takes the line away. */
  clear(): void;
}

const barWidth = 20;
const eraseLine = '\r\u001b[K';

export function createCallProgress(terminal: Terminal): CallProgress {
  let shown = '';
  const draw = (line: string) => {
    if (!terminal.interactive) return;
    terminal.writeNote(`${shown === '' ? '' : eraseLine}${line}`);
    shown = line;
  };
  return {
    show: (params) => draw(formatProgress(params, terminal.columns)),
    say(line) {
      const kept = shown;
      draw('');
      terminal.note(line);
      draw(kept);
    },
    clear: () => draw(''),
  };
}

/** `[######······] 30 % message`, or what is known of it, cut to the width. */
export function formatProgress(params: Readonly<Record<string, unknown>>, columns: number): string {
  const { progress, total, message } = params;
  const text = typeof message === 'string' ? harmless(message).replaceAll(/\s+/g, ' ') : '';
  const parts = [typeof progress === 'number' ? amount(progress, total) : '', text];
  const line = parts.filter((part) => part !== '').join(' ');
  return [...line].length < columns ? line : `${[...line].slice(0, Math.max(1, columns - 2)).join('')}…`;
}

function amount(progress: number, total: unknown): string {
  if (typeof total !== 'number' || !(total > 0)) return String(progress);
  const part = Math.min(1, Math.max(0, progress / total));
  const filled = Math.round(part * barWidth);
  return `[${'#'.repeat(filled)}${'·'.repeat(barWidth - filled)}] ${Math.round(part * 100)} %`;
}
