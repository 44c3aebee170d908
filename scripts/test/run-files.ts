import { join, relative } from 'node:path';
import { run } from 'node:test';
import { inspect, styleText } from 'node:util';

/** What test files did; plain data, so that it passes between processes. */
export interface Outcome {
  passed: number;
  todo: number;
  readonly failures: { name: string; file: string; error: string }[];
  readonly skips: { name: string; file: string; reason: string }[];
}

export function nothing(): Outcome {
  return { passed: 0, todo: 0, failures: [], skips: [] };
}

/** Adds what more files did. */
export function add(to: Outcome, more: Outcome): void {
  to.passed += more.passed;
  to.todo += more.todo;
  to.failures.push(...more.failures);
  to.skips.push(...more.skips);
}

/** Far longer than any file takes, in milliseconds: one that hangs is ended and counts as failed. */
const longestMs = 900_000;

/** Runs files of the checkout at `root`, `concurrency` at a time, and prints a line for each. */
export async function runFiles(
  root: string,
  files: readonly string[],
  concurrency: number,
): Promise<Outcome> {
  const outcome = nothing();
  const waiting = [...files];
  const work = async () => {
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
      await runFile(root, file, outcome);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, work));
  return outcome;
}

/** The runner's own time limit is one of single tests: it does not end a process that lives on after them. */
async function runFile(root: string, path: string, outcome: Outcome): Promise<void> {
  const short = (file: string | undefined) => (file === undefined ? '' : relative(root, file));
  const signal = AbortSignal.timeout(longestMs);
  const stream = run({ files: [join(root, path)], cwd: root, signal });
  stream.on('test:pass', ({ name, file, skip }) => {
    if (skip === undefined || skip === false) return;
    const reason = typeof skip === 'string' ? skip : 'no reason given';
    outcome.skips.push({ name, file: short(file), reason });
  });
  stream.on('test:fail', ({ name, file, details, todo }) => {
    const isParent = 'failureType' in details.error && details.error.failureType === 'subtestsFailed';
    if (!isParent && (todo === undefined || todo === false)) {
      outcome.failures.push({
        name,
        file: short(file),
        error: inspect(details.error.cause ?? details.error),
      });
    }
  });
  stream.on('test:stderr', ({ message, file }) => process.stderr.write(`${short(file)}: ${message}`));
  stream.on('test:summary', ({ file, counts, duration_ms: ms, success }) => {
    // The one without a file is the sum.
    if (file === undefined) return;
    outcome.passed += counts.passed;
    outcome.todo += counts.todo;
    const mark = success ? styleText('green', '✔') : styleText('red', '✖');
    const skipped = counts.skipped > 0 ? `, ${counts.skipped} skipped` : '';
    console.log(`${mark} ${short(file)}  ${counts.passed} passed${skipped}  ${(ms / 1000).toFixed(1)} s`);
  });
  for await (const _event of stream);
  if (!signal.aborted) return;
  console.log(`${styleText('red', '✖')} ${path}  hung`);
  const error = `It was ended after ${longestMs / 1000} s: a test waits for ever, or something keeps its process alive.`;
  outcome.failures.push({ name: 'the whole file', file: path, error });
}
