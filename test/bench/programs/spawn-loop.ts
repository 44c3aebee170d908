/**
 * The bare limit of a fresh process a call: `child_process.spawn` of a command, a line on its standard input, its
 * output read to the end. Told by messages to run for a while at some concurrency; answers calls, seconds and times.
 */
import { spawn } from 'node:child_process';
import { ascending, percentile } from '../harness/stats.ts';

export interface SpawnOrder {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly concurrency: number;
  readonly ms: number;
}

export interface SpawnOutcome {
  readonly calls: number;
  readonly seconds: number;
  readonly callsPerSecond: number;
  readonly p50: number;
  readonly p99: number;
}

function runOnce({ command: [program = '', ...args], env }: SpawnOrder): Promise<number> {
  const begun = performance.now();
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { env, stdio: ['pipe', 'pipe', 'pipe'] });
    let output = 0;
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.length;
    });
    child.stderr.resume();
    child.once('error', reject);
    child.stdin.on('error', () => undefined);
    child.stdin.end(line);
    child.once('close', (code) => {
      if (code !== 0 || output === 0) reject(new Error(`exit code ${code}, ${output} bytes`));
      else resolve(performance.now() - begun);
    });
  });
}

/** As long as what a tool reads. */
const line = `${JSON.stringify({ tool: 'bench', input: { text: 'x' }, metadata: { pad: 'x'.repeat(600) } })}\n`;

async function run(order: SpawnOrder): Promise<SpawnOutcome> {
  const times: number[] = [];
  const begun = performance.now();
  const deadline = begun + order.ms;
  const worker = async () => {
    while (performance.now() < deadline) times.push(await runOnce(order));
  };
  await Promise.all(Array.from({ length: order.concurrency }, worker));
  const seconds = (performance.now() - begun) / 1000;
  const sorted = times.sort(ascending);
  return {
    calls: sorted.length,
    seconds,
    callsPerSecond: sorted.length / seconds,
    p50: percentile(sorted, 0.5),
    p99: percentile(sorted, 0.99),
  };
}

process.on('message', (order: SpawnOrder) => {
  run(order).then(
    (outcome) => process.send?.({ outcome }),
    (error: unknown) => process.send?.({ error: String(error) }),
  );
});
process.on('disconnect', () => process.exit(0));
