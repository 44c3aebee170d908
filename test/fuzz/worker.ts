import { parentPort, workerData } from 'node:worker_threads';
import { createCoverage } from './coverage.ts';
import { mutate, seeded } from './mutate.ts';
import { targetNamed } from './targets.ts';

/** What a run of one target is told, and how it tells where it is. */
export interface FuzzOrder {
  readonly target: string;
  readonly seed: number;
  /** Milliseconds. */
  readonly forMs: number;
  /** Inputs to run instead of made ones. */
  readonly inputs?: readonly Uint8Array[];
  /** The input that is run now: its length, then its bytes; and how many were begun. */
  readonly current: SharedArrayBuffer;
  readonly begun: SharedArrayBuffer;
}

export type FuzzNews =
  | { readonly type: 'done'; readonly runs: number; readonly corpus: number }
  | { readonly type: 'failed'; readonly input: Uint8Array; readonly error: string };

const order = workerData as FuzzOrder;
const { name, seeds, words, run } = targetNamed(order.target);
const bytes = new Uint8Array(order.current, 4);
const length = new Uint32Array(order.current, 0, 1);
const begun = new Int32Array(order.begun);

/** Inputs in a batch, after which it is looked whether they came to new places of the program. */
const batchSize = 200;
const mostKept = 2_000;

function tryOne(input: Buffer): void {
  length[0] = Math.min(input.length, bytes.length);
  bytes.set(input.subarray(0, bytes.length));
  Atomics.add(begun, 0, 1);
  try {
    run(input);
  } catch (error) {
    const told = error instanceof Error ? (error.stack ?? error.message) : String(error);
    parentPort?.postMessage({ type: 'failed', input, error: `${name}: ${told}` } satisfies FuzzNews);
  }
}

async function main(): Promise<void> {
  if (order.inputs !== undefined) {
    for (const input of order.inputs) tryOne(Buffer.from(input));
    return done(order.inputs.length, 0);
  }
  const random = seeded(order.seed);
  const corpus: Buffer[] = seeds.map((seed) => Buffer.from(seed));
  for (const input of corpus) tryOne(input);
  const coverage = await createCoverage();
  const end = performance.now() + order.forMs;
  let runs = corpus.length;
  while (performance.now() < end) {
    const batch = Array.from({ length: batchSize }, () => mutate(corpus, words, random));
    for (const input of batch) tryOne(input);
    runs += batchSize;
    if (!(await coverage.isNew()) || corpus.length >= mostKept) continue;
    // Which of them it was costs more to find out than to keep some.
    corpus.push(...batch.filter((input) => input.length < 4096).slice(0, 20));
  }
  coverage.close();
  done(runs, corpus.length);
}

function done(runs: number, corpus: number): void {
  parentPort?.postMessage({ type: 'done', runs, corpus } satisfies FuzzNews);
}

await main();
