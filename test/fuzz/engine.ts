import { Worker } from 'node:worker_threads';
import type { FuzzNews, FuzzOrder } from './worker.ts';

export interface Finding {
  readonly kind: 'crash' | 'hang';
  readonly input: Buffer;
  /** What went wrong. */
  readonly told: string;
}

export interface FuzzReport {
  readonly target: string;
  readonly runs: number;
  /** Inputs from which others were made at the end. */
  readonly corpus: number;
  readonly findings: readonly Finding[];
}

export interface FuzzOptions {
  readonly seconds: number;
  readonly seed: number;
  /** Only these, each once. */
  readonly inputs?: readonly Buffer[];
  /** Ends with the first finding. */
  readonly untilFound?: boolean;
}

/** Milliseconds for one input. */
const longestMs = 1_000;
const longestInput = 65_536;
/** A busy machine may stop anybody for a second; only who is slow each time is slow. */
const lookAgain = 3;
const mostFindings = 5;

/** Runs one target for a while, in a thread of its own, and again after each hang. Resolves with what was found. */
export async function fuzz(target: string, options: FuzzOptions): Promise<FuzzReport> {
  const end = performance.now() + options.seconds * 1_000;
  const findings: Finding[] = [];
  let runs = 0;
  let corpus = 0;
  for (let round = 0; ; round += 1) {
    const forMs = Math.max(0, end - performance.now());
    const seed = options.seed + round;
    const outcome = await runOnce({ target, seed, forMs, ...(options.inputs && { inputs: options.inputs }) });
    runs += outcome.runs;
    corpus = outcome.corpus;
    findings.push(...outcome.failures);
    if (outcome.slow === undefined) break;
    if (await isSlow(target, outcome.slow))
      findings.push({ kind: 'hang', input: outcome.slow, told: `takes longer than ${longestMs} ms` });
    if (options.untilFound === true && findings.length > 0) break;
    if (performance.now() >= end || findings.length >= mostFindings || options.inputs !== undefined) break;
  }
  return { target, runs, corpus, findings: findings.slice(0, mostFindings) };
}

async function isSlow(target: string, input: Buffer): Promise<boolean> {
  for (let count = 0; count < lookAgain; count += 1) {
    const { slow } = await runOnce({ target, seed: 0, forMs: 0, inputs: [input] });
    if (slow === undefined) return false;
  }
  return true;
}

interface Outcome {
  readonly runs: number;
  readonly corpus: number;
  readonly failures: readonly Finding[];
  /** The input at which it stood. */
  readonly slow: Buffer | undefined;
}

function runOnce(order: Omit<FuzzOrder, 'current' | 'begun'>): Promise<Outcome> {
  const current = new SharedArrayBuffer(4 + longestInput);
  const begun = new SharedArrayBuffer(4);
  const workerData: FuzzOrder = { ...order, current, begun };
  const worker = new Worker(new URL('worker.ts', import.meta.url), { workerData });
  const failures: Finding[] = [];
  return new Promise((resolve, reject) => {
    let last = 0;
    const watch = setInterval(() => {
      const now = Atomics.load(new Int32Array(begun), 0);
      const stands = now > 0 && now === last;
      last = now;
      if (stands) finish({ runs: now, corpus: 0, failures, slow: inputIn(current) });
    }, longestMs);
    function finish(outcome: Outcome): void {
      clearInterval(watch);
      worker.removeAllListeners();
      void worker.terminate().then(() => resolve(outcome), reject);
    }
    worker.on('message', (news: FuzzNews) => {
      if (news.type === 'done') return finish({ ...news, failures, slow: undefined });
      failures.push({ kind: 'crash', input: Buffer.from(news.input), told: news.error });
      if (failures.length >= mostFindings) finish({ runs: last, corpus: 0, failures, slow: undefined });
    });
    worker.on('error', (error) => {
      const told = `the thread ended: ${error.message}`;
      finish({
        runs: last,
        corpus: 0,
        failures: [...failures, { kind: 'crash', input: inputIn(current), told }],
        slow: undefined,
      });
    });
  });
}

function inputIn(current: SharedArrayBuffer): Buffer {
  const [length = 0] = new Uint32Array(current, 0, 1);
  return Buffer.from(new Uint8Array(current, 4, length));
}
