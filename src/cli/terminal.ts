import { stripVTControlCharacters, styleText } from 'node:util';

export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan';

/** Where a command writes. Results go to standard output, everything else to standard error. */
export interface Terminal {
  /** A result, with a line end added. */
  print(text: string): void;
  /** Raw text to standard output. */
  write(text: string): void;
  /** A note for the person who watches. */
  note(text: string): void;
  /** Raw text to standard error, for redrawn progress. */
  writeNote(text: string): void;
  /** Whether notes may be redrawn in place. */
  readonly interactive: boolean;
  /** Coloured when the results go to a terminal and nobody asked for none. */
  style(style: Style, text: string): string;
  /** The same for notes. */
  styleNote(style: Style, text: string): string;
  readonly columns: number;
  /** Lines that are to be seen at once. */
  readonly rows?: number;
}

export interface Stream {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
}

/** Colours follow https://no-color.org: a non-empty NO_COLOR turns them off, FORCE_COLOR on. */
export function createTerminal(
  out: Stream,
  notes: Stream,
  env: Readonly<Record<string, string | undefined>>,
): Terminal {
  const coloured = (stream: Stream) => {
    if (env['NO_COLOR']) return false;
    return env['FORCE_COLOR'] ? true : stream.isTTY === true && env['TERM'] !== 'dumb';
  };
  const paint = (on: boolean) => (style: Style, text: string) =>
    on ? styleText(style, text, { validateStream: false }) : text;
  return {
    print: (text) => void out.write(`${text}\n`),
    write: (text) => void out.write(text),
    note: (text) => void notes.write(`${text}\n`),
    writeNote: (text) => void notes.write(text),
    interactive: notes.isTTY === true && env['TERM'] !== 'dumb',
    style: paint(coloured(out)),
    styleNote: paint(coloured(notes)),
    // Some terminals say 0 for a width that they do not know.
    columns: notes.columns || 80,
    rows: notes.rows || 24,
  };
}

/** Characters that a text takes on the screen; escape sequences take none. */
export function widthOf(text: string): number {
  return [...stripVTControlCharacters(text)].length;
}

/** Text from elsewhere, made harmless for a terminal: control characters but line end and tab become `�`. */
export function harmless(text: string): string {
  return text.replace(/[^\P{Cc}\n\t]/gu, '\ufffd');
}
