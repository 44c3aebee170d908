import { closeSync, openSync, renameSync, statSync, writeSync } from 'node:fs';

export interface RotatingLog {
  /** Appends. A failure (disk full) loses this piece, is reported once, and never throws. */
  write(data: string | Uint8Array): void;
  close(): void;
}

export interface RotationOptions {
  /** A file this large (bytes) is put aside as `<path>.1` before the next write. Default 10 MiB. */
  readonly maxBytes?: number;
  /** How many put-aside files stay. Default 3. */
  readonly keep?: number;
  readonly onError: (error: unknown) => void;
}

/**
 * A log file of bounded size. Written synchronously: the order of lines is the order of events, and what a
 * child said just before it died is in the file when the watchdog reports its end.
 */
export function openRotatingLog(path: string, options: RotationOptions): RotatingLog {
  const maxBytes = options.maxBytes ?? 10 * 1024 * 1024;
  let file: { fd: number; size: number } | undefined;
  let failing = false;
  const reopen = () => {
    const fd = openSync(path, 'a', 0o600);
    return { fd, size: statSync(path).size };
  };
  const append = (data: string | Uint8Array) => {
    file ??= reopen();
    if (file.size >= maxBytes) {
      closeSync(file.fd);
      file = undefined;
      putAside(path, options.keep ?? 3);
      file = reopen();
    }
    file.size += typeof data === 'string' ? writeSync(file.fd, data) : writeSync(file.fd, data);
  };
  return {
    write(data) {
      try {
        append(data);
        failing = false;
      } catch (error) {
        if (!failing) options.onError(error);
        failing = true;
      }
    },
    close() {
      if (file !== undefined) closeSync(file.fd);
      file = undefined;
    },
  };
}

/** `<path>` → `<path>.1` → `<path>.2` …; the last one is overwritten. */
function putAside(path: string, keep: number): void {
  for (let number = keep; number >= 1; number--) {
    try {
      renameSync(number === 1 ? path : `${path}.${number - 1}`, `${path}.${number}`);
    } catch {
      // That one does not exist yet.
    }
  }
}
