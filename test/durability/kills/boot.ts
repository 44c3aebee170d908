import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

export interface BootOptions {
  readonly program: string;
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  /** Every line that it says. */
  readonly onLine: (line: string) => void;
}

/** One life of the program under test. */
export class Boot {
  readonly #child: ChildProcess;
  /** Milliseconds from its start until it said `up`; undefined when it ended before. */
  readonly up: Promise<number | undefined>;
  /** The signal or code that it ended with. */
  readonly ended: Promise<NodeJS.Signals | number>;
  isOver = false;
  stderr = '';

  constructor({ program, folder, env, onLine }: BootOptions) {
    const begun = performance.now();
    this.#child = spawn(process.execPath, ['--max-semi-space-size=1', program, folder], {
      env,
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    this.#child.stdin?.on('error', () => undefined);
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.stderr = `${this.stderr}${text}`.slice(-4_000);
    });
    const up = Promise.withResolvers<number | undefined>();
    this.up = up.promise;
    const { stdout } = this.#child;
    if (stdout === null) throw new Error('the program has no output');
    const lines = createInterface({ input: stdout });
    lines.on('line', (line) => {
      if (line === 'up') up.resolve(performance.now() - begun);
      else onLine(line);
    });
    // All that it said has been read then: what it acknowledged before it was killed counts.
    const read = once(lines, 'close');
    this.ended = once(this.#child, 'exit').then(async ([code, signal]) => {
      this.isOver = true;
      await read;
      // What it started may live a moment longer, and holds the other end.
      this.#child.stderr?.destroy();
      up.resolve(undefined);
      return signal ?? code;
    });
  }

  send(line: string): void {
    this.#child.stdin?.write(`${line}\n`);
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }

  /** Ends it in good order. */
  async close(): Promise<void> {
    this.#child.stdin?.end();
    const timer = setTimeout(() => this.kill(), 10_000);
    await this.ended;
    clearTimeout(timer);
  }
}
