import { type SpawnOptions, spawn } from 'node:child_process';

export interface Result {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly input?: string;
  readonly env?: NodeJS.ProcessEnv;
  /** The process is killed after it. Default: five minutes. */
  readonly timeoutMilliseconds?: number;
}

/** Runs a program to its end, whatever its exit code. Code -1: it could not be started, or a signal ended it. */
export function tryRun(argv: readonly string[], options: RunOptions = {}): Promise<Result> {
  const [file = '', ...args] = argv;
  const settings: SpawnOptions = { stdio: ['pipe', 'pipe', 'pipe'] };
  if (options.env !== undefined) settings.env = options.env;
  const child = spawn(file, args, settings);
  // Not spawn's own timeout: its timer outlives a program that could not be started.
  const timer = setTimeout(() => child.kill('SIGKILL'), options.timeoutMilliseconds ?? 300_000);
  const output = { stdout: '', stderr: '' };
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (output.stdout += text));
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (output.stderr += text));
  // A program that ends without reading its input is no error.
  child.stdin?.on('error', () => undefined);
  child.stdin?.end(options.input ?? '');
  return new Promise<Result>((resolve) => {
    child.on('error', (error) => resolve({ ...output, code: -1, stderr: error.message }));
    child.on('close', (code) => resolve({ ...output, code: code ?? -1 }));
  }).finally(() => clearTimeout(timer));
}

/** Runs a program and returns what it printed. Rejects with its error output when it ends with another code than 0. */
export async function run(argv: readonly string[], options: RunOptions = {}): Promise<string> {
  const { code, stdout, stderr } = await tryRun(argv, options);
  if (code !== 0) throw new Error(`${argv.join(' ')} ended with ${code}: ${(stderr || stdout).trim()}`);
  return stdout;
}

export async function hasProgram(name: string): Promise<boolean> {
  return (await tryRun(['sh', '-c', `command -v ${name}`])).code === 0;
}
