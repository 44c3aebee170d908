import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Bench, BenchResult } from '../harness/bench.ts';
import { checkout, type Scope } from '../harness/scope.ts';
import { type AgentRun, type IdleRun, idle, runAgents, withController } from './agent-runs.ts';
import { removeAgents } from './agents.ts';
import { profileTables } from './profile-table.ts';
import type { Stage } from './stage.ts';

export interface ProfileOptions {
  readonly agents: number;
  /** Where the profile is left, for a viewer. */
  readonly folder: string;
}

interface Taken {
  readonly run: AgentRun;
  readonly idle: IdleRun;
  readonly profile: string;
}

const idleSeconds = 30;

/**
 * Where the controller's time goes while Agents come at once. It runs from its sources, so that functions are told by
 * file. Simulated pods have addresses that nobody answers at: a second controller, which does not try to reach
 * them, shows what the attempts cost.
 */
export function profileBench(stage: () => Stage, { agents, folder }: ProfileOptions): Bench {
  return {
    name: 'cluster-profile',
    about: `CPU profile of the controller with ${agents} Agents at once, and what unreachable agent-servers cost it`,
    goals: [],
    async run(scope) {
      const taken = await profileRun(scope, stage(), agents, false);
      const without = await profileRun(scope, stage(), agents, true);
      mkdirSync(folder, { recursive: true });
      const file = join(folder, 'cluster-controller.cpuprofile');
      writeFileSync(file, taken.profile);
      return report(agents, taken, without, file);
    },
  };
}

async function profileRun(
  scope: Scope,
  stage: Stage,
  count: number,
  withoutStreams: boolean,
): Promise<Taken> {
  const namespace = `bench-profile-${withoutStreams ? 'without' : 'with'}`;
  const taken = await withController(
    scope,
    stage,
    { fromSources: true, withoutStreams },
    async (controller) => {
      await controller.profiler.start();
      const run = await runAgents(scope, stage, controller, { namespace, count });
      const profile = await controller.profiler.stop();
      return { run, profile, idle: await idle(stage, controller, idleSeconds) };
    },
  );
  await removeAgents(stage, namespace);
  return taken;
}

function report(agents: number, taken: Taken, without: Taken, file: string): BenchResult {
  const title = `${agents} Agents at once`;
  const row = (name: string, read: (one: Taken) => number) => [name, read(taken), read(without)];
  return {
    tables: [
      ...profileTables(JSON.parse(taken.profile), title, checkout),
      {
        title: 'What unreachable agent-servers cost the controller',
        columns: ['', 'as it is', 'without streams'],
        rows: [
          row('seconds until all are Ready', ({ run }) => run.readySeconds),
          row('CPU seconds until quiet', ({ run }) => run.cpuSeconds),
          row('MiB after a collection', ({ run }) => run.residentMiB),
          row('MiB of heap', ({ run }) => run.heapMiB),
          row(`% of a core, idle for ${idleSeconds} s`, ({ idle: quiet }) => quiet.cpuShare * 100),
        ],
      },
    ],
    goals: [],
    samples: {
      taken: { run: taken.run, idle: taken.idle },
      without: { run: without.run, idle: without.idle },
    },
    notes: [`The profile itself: ${file}`],
  };
}
