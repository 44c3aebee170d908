import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type BenchAgentServer, startAgentServer } from '../harness/agent-server.ts';
import type { Bench, BenchResult } from '../harness/bench.ts';
import { type Scope, until } from '../harness/scope.ts';
import { median } from '../harness/stats.ts';
import { callAsync } from './async-calls.ts';

const pending = 10_000;
const restarts = 7;

interface Restart {
  /** Milliseconds from the start of the agent-server until the first task's process said the time. */
  readonly firstStart: number;
  /** MB of the agent-server alone, when the first task runs, and at most until then. */
  readonly resident: number;
  readonly peak: number;
}

/**
 * An agent-server is killed while one task runs and 10,000 wait, and started again: when the next one's process starts,
 * and what memory that takes. Each task says the time at its beginning and then takes longer than the bench.
 */
export const taskRecovery: Bench = {
  name: 'task-recovery',
  about:
    'an agent-server that was killed with 10,000 tasks waiting: its first start after that, and its memory',
  goals: ['R4-first-start-ms', 'R4-peak-mb'],
  async run(scope) {
    const marks = join(scope.folder, 'marks');
    const { server } = await open(scope, marks);
    await callAsync(server.socket, 'hold', pending + restarts + 1);
    await until('the first task runs', async () => timesIn(marks)[0]);
    await kill(server);
    const taken: Restart[] = [];
    for (let index = 1; index <= restarts; index += 1) {
      const { server: again, begun } = await open(scope, marks);
      const started = await until('the next task runs', async () => timesIn(marks)[index]);
      taken.push({ firstStart: started - begun, ...memoryOf(again.pid) });
      await kill(again);
    }
    return judge(taken);
  },
};

/** `begun`: when the process was started, in milliseconds since the epoch. */
async function open(scope: Scope, marks: string): Promise<{ server: BenchAgentServer; begun: number }> {
  let begun = 0;
  const timed: Scope = {
    folder: scope.folder,
    pinned: scope.pinned,
    start(...args) {
      begun = Date.now();
      return scope.start(...args);
    },
    run: (...args) => scope.run(...args),
    defer: (end) => scope.defer(end),
  };
  const script = `date +%s%3N >> ${marks}; exec sleep 600`;
  const hold = { name: 'hold', command: ['/bin/sh', '-c', script], async: true };
  const server = await startAgentServer(timed, {
    mcp: { tools: [{ ...hold, inputSchema: { type: 'object' } }], maxParallelTasks: 1 },
    limits: { maxQueuedCalls: 2 * pending },
    withoutTokens: true,
    identity: { namespace: 'default', name: 'recovery', uid: 'uid-recovery' },
  });
  return { server, begun };
}

/** As when the machine takes it: nothing is told and nothing is finished. Its helper ends the task's process. */
async function kill({ process: child }: BenchAgentServer): Promise<void> {
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}

/** What the tasks wrote; [] before the first one. */
function timesIn(marks: string): number[] {
  try {
    return readFileSync(marks, 'utf8').split('\n').slice(0, -1).map(Number);
  } catch {
    return [];
  }
}

function memoryOf(pid: number): Pick<Restart, 'resident' | 'peak'> {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const megabytes = (name: string) =>
    (Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]) * 1024) / 1e6;
  return { resident: megabytes('VmRSS'), peak: megabytes('VmHWM') };
}

function judge(taken: readonly Restart[]): BenchResult {
  const all = (name: keyof Restart) => taken.map((restart) => restart[name]);
  const row = (title: string, name: keyof Restart) => [title, median(all(name)), Math.max(...all(name))];
  return {
    tables: [
      {
        title: `${restarts} restarts with ${pending.toLocaleString('en-US')} tasks waiting`,
        columns: ['', 'median', 'largest'],
        rows: [
          row('start of the agent-server → process of the next task, ms', 'firstStart'),
          row('memory of the agent-server then, MB', 'resident'),
          row('most memory until then, MB', 'peak'),
        ],
      },
    ],
    goals: [
      { name: 'R4-first-start-ms', op: '<=', target: 500, unit: 'ms', value: median(all('firstStart')) },
      { name: 'R4-peak-mb', op: '<=', target: 150, unit: 'MB', value: Math.max(...all('peak')) },
    ],
    samples: taken,
    notes: [
      'The task that ran when its agent-server was killed is not run again: the next one is the first start.',
    ],
  };
}
