import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { hasProgram } from '../gateway/wrk.ts';
import { type Bench, CannotRun, type Goal } from '../harness/bench.ts';
import { cpuMicros } from '../harness/machine.ts';
import type { Scope } from '../harness/scope.ts';
import { median, medianRatio, percentile, round } from '../harness/stats.ts';
import { openStand, type Stand, type Way } from './stand.ts';

const run = promisify(execFile);
const mebibyte = 1024 * 1024;
const rounds = 3;
const atOnce = 8;

interface Sample {
  /** MiB a second. */
  readonly put: number;
  readonly get: number;
  /** Milliseconds of CPU a GiB. */
  readonly putCpu: number;
  readonly getCpu: number;
}

/** Files in and out beside nginx, on the same machine in the same minutes. `mib`: the size of one. */
export function blobsBench(mib: number): Bench {
  return {
    name: 'blobs',
    about: `upload and download of ${mib} MiB beside nginx (dav, sendfile), at the agent-server and through the router`,
    goals: [
      'P16-get-of-nginx',
      'P17-post-of-nginx',
      'P16-get-router',
      'P17-post-router',
      'P16-rss',
      'P16-range-p50',
    ],
    longestMs: 600_000,
    async run(scope) {
      for (const program of ['curl', 'nginx'])
        if (!hasProgram(program))
          throw new CannotRun(`${program} is missing: sudo apt-get install curl nginx-light`);
      const stand = await openStand(scope);
      const file = makeFile(scope, mib);
      const taken: Record<keyof Stand, Sample>[] = [];
      for (let index = 0; index < rounds; index += 1)
        taken.push({
          nginx: await measure(stand.nginx, file, mib),
          agentServer: await measure(stand.agentServer, file, mib),
          router: await measure(stand.router, file, mib),
        });
      const crowd = await memoryOfMany(stand, file);
      const ranges = await rangeTimes(stand.agentServer, file, mib);
      return judge(taken, crowd, ranges, mib);
    },
  };
}

type Taken = readonly Record<keyof Stand, Sample>[];

function judge(taken: Taken, memory: Memory, rangeMs: number, mib: number) {
  const of = (way: keyof Stand, field: keyof Sample) => (sample: Record<keyof Stand, Sample>) =>
    sample[way][field];
  const ratio = (way: keyof Stand, other: keyof Stand, field: keyof Sample) =>
    medianRatio([...taken], of(way, field), of(other, field));
  const atLeast = { op: '>=', unit: '×' } as const;
  const goals: Goal[] = [
    { ...atLeast, name: 'P16-get-of-nginx', target: 0.9, value: ratio('agentServer', 'nginx', 'get') },
    { ...atLeast, name: 'P17-post-of-nginx', target: 0.7, value: ratio('agentServer', 'nginx', 'put') },
    { ...atLeast, name: 'P16-get-router', target: 0.6, value: ratio('router', 'agentServer', 'get') },
    { ...atLeast, name: 'P17-post-router', target: 0.6, value: ratio('router', 'agentServer', 'put') },
    {
      op: '<=',
      unit: 'MiB',
      name: 'P16-rss',
      target: 120,
      value: Math.max(memory.agentServer, memory.router),
    },
    { op: '<=', unit: 'ms', name: 'P16-range-p50', target: 3, value: round(rangeMs, 2) },
  ];
  const fields = ['put', 'get', 'putCpu', 'getCpu'] as const;
  const rows = (['nginx', 'agentServer', 'router'] as const).map((way) => [
    way,
    ...fields.map((field) => round(median(taken.map(of(way, field))), 0)),
  ]);
  return {
    tables: [
      {
        title: `${mib} MiB, medians of ${rounds} rounds`,
        columns: ['', 'in MiB/s', 'out MiB/s', 'CPU ms/GiB in', 'CPU ms/GiB out'],
        rows,
      },
      {
        title: `largest memory with ${atOnce} in and ${atOnce} out at once`,
        columns: ['', 'MiB'],
        rows: Object.entries(memory).map(([name, size]) => [name, size]),
      },
    ],
    goals,
    samples: { taken, memory, rangeMs },
    notes: ['What goes in here is hashed and synced to the disk before it is answered; nginx does neither.'],
  };
}

function makeFile(scope: Scope, mib: number): string {
  const path = join(scope.folder, 'file.bin');
  const handle = openSync(path, 'w');
  const piece = randomBytes(mebibyte);
  for (let index = 0; index < mib; index += 1) writeSync(handle, piece);
  closeSync(handle);
  return path;
}

async function curl(way: Way, args: readonly string[]): Promise<string> {
  const { stdout } = await run('curl', ['-sS', '--fail', '-H', 'Expect:', ...way.at, ...args]);
  return stdout;
}

async function measure(way: Way, file: string, mib: number): Promise<Sample> {
  const into = await timed(way, mib, () => curl(way, ['-T', file, ...way.put]));
  const url = way.urlOf(into.answer);
  const out = await timed(way, mib, () => curl(way, ['-o', '/dev/null', url]));
  await curl(way, ['-X', 'DELETE', url]);
  return { put: into.speed, get: out.speed, putCpu: into.cpu, getCpu: out.cpu };
}

async function timed(way: Way, mib: number, act: () => Promise<string>) {
  const cpu = () => way.pids().reduce((sum, pid) => sum + (cpuMicros(pid) ?? 0), 0);
  const [cpuBefore, began] = [cpu(), performance.now()];
  const answer = await act();
  const seconds = (performance.now() - began) / 1000;
  return { answer, speed: mib / seconds, cpu: ((cpu() - cpuBefore) / 1000) * (1024 / mib) };
}

interface Memory {
  readonly agentServer: number;
  readonly router: number;
}

/** The most of any one process, in MiB. */
async function memoryOfMany({ agentServer, router }: Stand, file: string): Promise<Memory> {
  const most = async (way: Way) => {
    const urls = await Promise.all(
      Array.from({ length: atOnce }, async () => way.urlOf(await curl(way, ['-T', file, ...way.put]))),
    );
    await Promise.all(urls.map((url) => curl(way, ['-o', '/dev/null', url])));
    for (const url of urls) await curl(way, ['-X', 'DELETE', url]);
    return Math.max(...way.pids().map(peakMib));
  };
  return { agentServer: await most(agentServer), router: await most(router) };
}

function peakMib(pid: number): number {
  const kib = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return round(Number(kib) / 1024, 0);
}

/** Median milliseconds for 64 KiB somewhere in the file, on one connection. */
async function rangeTimes(way: Way, file: string, mib: number): Promise<number> {
  const url = way.urlOf(await curl(way, ['-T', file, ...way.put]));
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const times: number[] = [];
  for (let index = 0; index < 200; index += 1) {
    const start = ((index * 7919) % (mib - 1)) * mebibyte;
    const began = performance.now();
    await part(way, agent, new URL(url).pathname, start);
    times.push(performance.now() - began);
  }
  agent.destroy();
  await curl(way, ['-X', 'DELETE', url]);
  return percentile(
    times.sort((one, other) => one - other),
    0.5,
  );
}

function part(way: Way, agent: Agent, path: string, start: number): Promise<void> {
  const headers = { range: `bytes=${start}-${start + 65_535}` };
  return new Promise((resolve, reject) => {
    const sent = request({ socketPath: way.at[1], path, agent, headers }, (answer) => {
      if (answer.statusCode !== 206) reject(new Error(`${answer.statusCode} for a range`));
      answer.resume().once('end', resolve);
    });
    sent.once('error', reject).end();
  });
}
