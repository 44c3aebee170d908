import type { Bench, BenchResult } from '../harness/bench.ts';
import { median } from '../harness/stats.ts';
import { type OpenTarget, startLoad } from '../load/client.ts';
import { createDrivers, openTools, type Side, workloadFor } from '../sandbox-start.ts';

const rounds = 5;
const sliceMs = 1_000;
/** Between two warm calls, so that the pool refills: arrivals slower than a start of node. */
const pauseMs = 150;
const warmCalls = 10;

/** Medians of a call's milliseconds, one at a time. */
type Round = Record<Side, { readonly cold: number; readonly warm: number }>;

interface Tools {
  readonly cold: OpenTarget;
  readonly warm: OpenTarget;
}

/** What a sandbox adds to a tool that is a node program: started for the call, and before it. */
export const sandboxedNode: Bench = {
  name: 'sandboxed-node',
  about: 'a node tool cold and prewarmed in a bwrap sandbox, beside a plain process',
  goals: ['P9-node-cold-added-ms', 'P9-node-warm-added-ms'],
  async run(scope) {
    const drivers = await createDrivers(scope);
    const load = startLoad(scope);
    const open = async (side: Side): Promise<Tools> => {
      const node = side === 'bwrap' ? 'node' : process.execPath;
      const tool = {
        command: [node, '-e', 'process.stdin.pipe(process.stdout)'],
        inputSchema: { type: 'object' },
      };
      const tools = [
        { name: 'cold', ...tool },
        { name: 'warm', ...tool, prewarm: 2 },
      ];
      const openTool = await openTools(scope, load, drivers[side], workloadFor(side, tools));
      return { cold: await openTool('cold'), warm: await openTool('warm') };
    };
    const sides = { process: await open('process'), bwrap: await open('bwrap') };
    const taken: Round[] = [];
    for (let index = 0; index <= rounds; index += 1) {
      taken.push({ process: await measure(sides.process), bwrap: await measure(sides.bwrap) });
    }
    const [, ...counted] = taken;
    return judge(counted);
  },
};

async function measure({ cold, warm }: Tools): Promise<Round[Side]> {
  const times: number[] = [];
  for (let number = 0; number < warmCalls; number += 1) {
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    times.push((await warm.run({ connections: 1, ms: 5_000, calls: 1 })).p50);
  }
  return { warm: median(times), cold: (await cold.run({ connections: 1, ms: sliceMs })).p50 };
}

function judge(taken: readonly Round[]): BenchResult {
  const row = (title: string, side: Side) => [
    title,
    median(taken.map((round) => round[side].cold)),
    median(taken.map((round) => round[side].warm)),
  ];
  const added = (name: 'cold' | 'warm') =>
    median(taken.map(({ bwrap, process: plain }) => bwrap[name] - plain[name]));
  return {
    tables: [
      {
        title: `A node tool, one call at a time, ${rounds} rounds`,
        columns: ['p50 ms', 'cold', 'prewarmed'],
        rows: [row('as a plain process', 'process'), row('in a bwrap sandbox', 'bwrap')],
      },
    ],
    goals: [
      { name: 'P9-node-cold-added-ms', op: '<=', target: 5, unit: 'ms', value: added('cold') },
      { name: 'P9-node-warm-added-ms', op: '<=', target: 5, unit: 'ms', value: added('warm') },
    ],
    samples: taken,
  };
}
