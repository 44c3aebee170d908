import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startAgentServer } from './harness/agent-server.ts';
import type { Bench, BenchResult } from './harness/bench.ts';
import { cleanEnvironment, type SpawnOutcome, startSpawnLoop } from './harness/spawn-loop.ts';
import { median, medianRatio } from './harness/stats.ts';
import { startLoad } from './load/client.ts';
import type { LoadOutcome } from './load/order.ts';

const rounds = 4;
const sliceMs = 1_500;
/** Between two warm calls, so that the pool refills: arrivals slower than a start of node. */
const pauseMs = 150;
const warmCalls = 12;

/** Reads its standard input to the end and writes it back. */
const program = 'process.stdin.pipe(process.stdout);\n';

interface Round {
  readonly cold: LoadOutcome;
  readonly coldParallel: LoadOutcome;
  readonly bare: SpawnOutcome;
  readonly bareParallel: SpawnOutcome;
  /** p50 in milliseconds of calls that found a process waiting. */
  readonly warm: number;
}

/** A tool that is a node program: started for the call, and started before it (`prewarm`), beside bare spawns of it. */
export const nodeTool: Bench = {
  name: 'node-tool',
  about: 'a node tool cold and prewarmed, beside a bare spawn of node',
  goals: ['P8-of-bare-node', 'P8-cold-p50-ms', 'P8-warm-p50-ms'],
  async run(scope) {
    const script = join(scope.folder, 'tool.mjs');
    writeFileSync(script, program);
    const tool = { command: [process.execPath, script], inputSchema: { type: 'object' } };
    const tools = [
      { name: 'cold', ...tool },
      { name: 'warm', ...tool, prewarm: 2 },
    ];
    const server = await startAgentServer(scope, { mcp: { tools, maxParallelTasks: 10 } });
    const load = startLoad(scope);
    const call = { method: 'tools/call', connections: 4 } as const;
    const cold = await load.open(server.target({ ...call, name: 'cold' }));
    const warm = await load.open(server.target({ ...call, name: 'warm' }));
    const loop = startSpawnLoop(scope);
    const bare = (concurrency: number) =>
      loop.run({ command: tool.command, env: cleanEnvironment, concurrency, ms: sliceMs });
    const warmOnce = async () => (await warm.run({ connections: 1, ms: 5_000, calls: 1 })).p50;
    await warmOnce();
    const taken: Round[] = [];
    for (let index = 0; index < rounds; index += 1) {
      const times: number[] = [];
      for (let number = 0; number < warmCalls; number += 1) {
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
        times.push(await warmOnce());
      }
      taken.push({
        warm: median(times),
        cold: await cold.run({ connections: 1, ms: sliceMs }),
        bare: await bare(1),
        coldParallel: await cold.run({ connections: 4, ms: sliceMs }),
        bareParallel: await bare(4),
      });
    }
    return judge(taken);
  },
};

function judge(taken: readonly Round[]): BenchResult {
  const row = (title: string, of: (round: Round) => LoadOutcome | SpawnOutcome) => [
    title,
    median(taken.map((samples) => of(samples).callsPerSecond)),
    median(taken.map((samples) => of(samples).p50)),
    median(taken.map((samples) => of(samples).p99)),
  ];
  const warm = median(taken.map((samples) => samples.warm));
  return {
    tables: [
      {
        title: `${rounds} rounds`,
        columns: ['medians', 'calls/s', 'p50 ms', 'p99 ms'],
        rows: [
          row('cold tool, c=1', ({ cold }) => cold),
          row('bare spawn of node, c=1', ({ bare }) => bare),
          row('cold tool, c=4', ({ coldParallel }) => coldParallel),
          row('bare spawn of node, c=4', ({ bareParallel }) => bareParallel),
          [`prewarmed tool, a call every ${pauseMs} ms`, '', warm, ''],
        ],
      },
    ],
    goals: [
      {
        name: 'P8-of-bare-node',
        op: '>=',
        target: 0.75,
        unit: '×',
        value: medianRatio(
          taken,
          ({ coldParallel }) => coldParallel.callsPerSecond,
          ({ bareParallel }) => bareParallel.callsPerSecond,
        ),
      },
      {
        name: 'P8-cold-p50-ms',
        op: '<=',
        target: 35,
        unit: 'ms',
        value: median(taken.map(({ cold }) => cold.p50)),
      },
      { name: 'P8-warm-p50-ms', op: '<=', target: 8, unit: 'ms', value: warm },
    ],
    samples: { rounds: taken },
  };
}
