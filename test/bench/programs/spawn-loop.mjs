// The bare limit of a fresh process a call: `child_process.spawn` of a command, a line on its standard input, its
// output read to the end. Told by messages to run for a while at some concurrency; answers calls, seconds and times.
// Plain JavaScript without imports, because a small parent forks faster.
import { spawn } from 'node:child_process';

/** As long as what a tool reads. */
const line = `${JSON.stringify({ tool: 'bench', input: { text: 'x' }, metadata: { pad: 'x'.repeat(600) } })}\n`;

function runOnce({ command: [program, ...args], env }) {
  const begun = performance.now();
  return new Promise((resolve, reject) => {
    // In a session of its own, as tools are: Linux may share CPU time out by session.
    const child = spawn(program, args, { env, stdio: ['pipe', 'pipe', 'pipe'], detached: true });
    let output = 0;
    child.stdout.on('data', (chunk) => {
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

async function run(order) {
  const times = [];
  const begun = performance.now();
  const deadline = begun + order.ms;
  const worker = async () => {
    while (performance.now() < deadline) times.push(await runOnce(order));
  };
  await Promise.all(Array.from({ length: order.concurrency }, worker));
  const seconds = (performance.now() - begun) / 1000;
  times.sort((left, right) => left - right);
  const rank = (fraction) => times[Math.max(1, Math.ceil(fraction * times.length)) - 1];
  return {
    calls: times.length,
    seconds,
    callsPerSecond: times.length / seconds,
    p50: rank(0.5),
    p99: rank(0.99),
  };
}

process.on('message', (order) => {
  run(order).then(
    (outcome) => process.send({ outcome }),
    (error) => process.send({ error: String(error) }),
  );
});
process.on('disconnect', () => process.exit(0));
