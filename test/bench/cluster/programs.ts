import { readFileSync } from 'node:fs';
import { createConnection, createServer } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Lease } from '#api/core-kinds.ts';
import { leaseResource } from '#api/resources.ts';
import { systemClock } from '#kit/clock.ts';
import { cpuMicros } from '../harness/machine.ts';
import { checkout, type Scope, until } from '../harness/scope.ts';
import { environmentOf } from './service-account.ts';
import type { Ground } from './stage.ts';

/** A program of the product that runs against the cluster, seen from outside and from within. */
export interface Program {
  readonly pid: number;
  /** Of its public listener. */
  readonly port: number;
  usage(): Usage;
  /** Bytes after a collection. */
  heap(): Promise<{ readonly heapUsed: number; readonly rss: number }>;
  /** Sum of a metric's values, of those lines whose labels contain `labels`. */
  metric(name: string, labels?: string): Promise<number>;
  readonly profiler: { start(): Promise<void>; stop(): Promise<string> };
  stop(): Promise<void>;
}

export interface Usage {
  readonly cpuSeconds: number;
  /** Largest resident memory so far. */
  readonly peakMiB: number;
}

export interface ControllerOptions {
  /** Runs the sources, whose functions a profile tells by file. Default: the bundle, as in the image. */
  readonly fromSources?: boolean;
  /** Makes no attempt to reach agent-servers; only from sources. */
  readonly withoutStreams?: boolean;
}

/** Resolves when it leads and its caches are there. */
export async function startController(
  scope: Scope,
  stage: Ground,
  options: ControllerOptions = {},
): Promise<Program> {
  const port = await freePort();
  const podName = `bench-controller-${serial}`;
  const flags = [
    ...['--agent-image', 'localhost/ploinky/agent:test', '--pod-defaults', stage.podDefaults],
    // Nothing is called there: pods only carry the addresses.
    ...['--router-address', '127.0.0.1:8081', '--egress-address', '127.0.0.1:3128'],
    ...['--leader-elect', 'true', '--status-listen', `127.0.0.1:${port}`],
  ];
  const program = startProgram(scope, stage, {
    name: 'controller',
    podName,
    flags,
    port,
    nodeFlags: options.withoutStreams === true ? preload('without-streams') : [],
    fromSources: options.fromSources === true,
  });
  // Ready is what follows, too; so it has to hold the Lease first, which the one before may have left to expire.
  const key = { namespace: stage.home, name: 'ploinky-controller' };
  const holds = async () =>
    (await stage.client.get<Lease>(leaseResource, key)).spec?.holderIdentity?.startsWith(`${podName}_`) ||
    undefined;
  await until('the controller leads', holds, 60_000);
  await systemClock.sleep(100);
  await until('its caches are there', () => answers(`http://127.0.0.1:${port}/readyz`), 60_000);
  return program;
}

/** Resolves when it listens, which is before it has a table; `isReady` tells that. */
export async function startRouter(
  scope: Scope,
  stage: Ground,
  options: { readonly name: string; readonly apiPort?: number },
): Promise<Program & { isReady(): Promise<boolean> }> {
  const port = await freePort();
  const flags = [
    ...['--listen', `127.0.0.1:${port}`, '--agents-listen', `127.0.0.1:${await freePort()}`],
    ...['--drain-seconds', '0'],
  ];
  const program = startProgram(scope, stage, {
    name: 'router',
    flags,
    port,
    nodeFlags: [],
    fromSources: false,
    podName: options.name,
    ...(options.apiPort !== undefined && { apiPort: options.apiPort }),
  });
  const base = `http://127.0.0.1:${port}`;
  await until('the router listens', () => answers(`${base}/health`), 60_000);
  return { ...program, isReady: async () => (await answers(`${base}/ready`)) === true };
}

interface StartOptions {
  readonly name: 'controller' | 'router';
  readonly flags: readonly string[];
  readonly port: number;
  readonly nodeFlags: readonly string[];
  readonly fromSources: boolean;
  readonly podName: string;
  /** Of a way to the API server. Default: the server itself. */
  readonly apiPort?: number;
}

let serial = 0;
const preload = (name: string) => ['--import', join(import.meta.dirname, `programs/${name}.mjs`)];

/** The fixed variables of the chart's container, flags of Node among them: a figure of memory is one with these. */
function environmentOfChart(name: StartOptions['name']): Record<string, string> {
  const text = readFileSync(join(checkout, `charts/ploinky/templates/${name}.yaml`), 'utf8');
  const found = text.matchAll(/^ +- \{ name: ([A-Z_]+), value: "?([^"{}]+?)"? \}$/gm);
  return Object.fromEntries([...found].map(([, variable = '', value = '']) => [variable, value]));
}

function startProgram(scope: Scope, stage: Ground, options: StartOptions): Program {
  const { name, port, podName } = options;
  const socket = join(scope.folder, `inspect${++serial}.sock`);
  const script = options.fromSources
    ? join(checkout, `src/main/cluster/${name}.ts`)
    : join(stage.app, `${name}.mjs`);
  const started = scope.start(script, ['--home-namespace', stage.home, ...options.flags], {
    nodeFlags: ['--expose-gc', ...preload('inspect'), ...preload('service-account'), ...options.nodeFlags],
    env: {
      ...environmentOfChart(name),
      ...environmentOf(stage.account, options.apiPort),
      INSPECT_SOCKET: socket,
      POD_NAME: podName,
      POD_NAMESPACE: stage.home,
    },
  });
  return {
    pid: started.pid,
    port,
    usage: () => ({
      cpuSeconds: (cpuMicros(started.pid) ?? Number.NaN) / 1e6,
      peakMiB: peakMiB(started.pid),
    }),
    heap: async () => JSON.parse(await ask(socket, 'heap')),
    metric: (metric, labels = '') => readMetric(port, metric, labels),
    profiler: {
      start: async () => void (await ask(socket, 'start')),
      stop: () => ask(socket, 'stop'),
    },
    stop: () => started.stop(),
  };
}

async function ask(socket: string, word: string): Promise<string> {
  const connection = createConnection(socket);
  connection.write(word);
  return text(connection);
}

function peakMiB(pid: number): number {
  const match = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(match?.[1]) / 1024;
}

async function readMetric(port: number, name: string, labels: string): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${port}/metrics`);
  let sum = 0;
  for (const line of (await response.text()).split('\n')) {
    const match = /^([a-z_]+)(\{[^}]*\})? (\S+)$/.exec(line);
    if (match?.[1] === name && (match[2] ?? '').includes(labels)) sum += Number(match[3]);
  }
  return sum;
}

async function answers(url: string): Promise<true | undefined> {
  const response = await fetch(url);
  await response.arrayBuffer();
  return response.ok ? true : undefined;
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}
