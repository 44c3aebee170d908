import { join } from 'node:path';
import { routeResource } from '#api/resources.ts';
import type { Route } from '#api/route.ts';
import { buildProgram } from '../../../scripts/build.ts';
import { type BenchApi, startApi } from '../harness/api.ts';
import type { Bench } from '../harness/bench.ts';
import { lineOf, type Scope, until } from '../harness/scope.ts';
import { median } from '../harness/stats.ts';
import { freePort } from '../router-call.ts';

const routes = 1_000;
const rounds = 5;
const changes = 200;

/** From the start of the process to the first 200 through the last of many Routes; and from the change of one to its service. */
export const gatewayBoot: Bench = {
  name: 'gateway-boot',
  about: `start of the router until the last of ${routes} Routes is served, and a change of one until it is`,
  goals: ['P28-boot-ms', 'P28-change-mean-ms'],
  async run(scope) {
    const api = await startApi(scope);
    await startAgent(scope, api);
    for (let index = 0; index < routes; index += 1) {
      await api.client.create<Route>(routeResource, {
        apiVersion: 'ploinky.dev/v1alpha1',
        kind: 'Route',
        metadata: { name: `route-${index}`, namespace: 'default' },
        spec: { agents: [{ name: 'raw' }], paths: [`/r${index}`], api: {} },
      } as unknown as Route);
    }
    const program = await asStarted(scope);
    // The first one leaves the compiled code that all later ones find, as after the first `ploinky up`.
    const first = await timeBoot(api, program);
    const taken: Boot[] = [];
    for (let round = 0; round < rounds; round += 1) {
      taken.push({ bare: await bareStart(scope), ...(await timeBoot(api, program)) });
    }
    const changed = await timeChanges(api, program);
    const mean = changed.reduce((sum, ms) => sum + ms, 0) / changed.length;
    const middle = (field: keyof Boot) => median(taken.map((one) => one[field]));
    const rows = [
      [`the last of ${routes} Routes answers 200`, middle('served')],
      ['it says that it is ready', middle('ready')],
      ['the same, the very first time', first.served],
      ['node that starts and ends', middle('bare')],
      [`one Route changed until it is served, mean of ${changes}`, mean],
      ['the slowest of them', Math.max(...changed)],
    ];
    return {
      tables: [{ title: `medians of ${rounds}`, columns: ['', 'ms'], rows }],
      goals: [
        { name: 'P28-boot-ms', op: '<=', target: 250, unit: 'ms', value: middle('served') },
        { name: 'P28-change-mean-ms', op: '<=', target: 15, unit: 'ms', value: mean },
      ],
      samples: { boots: taken, changed },
      notes: [
        'The router is started as `ploinky up` does: its bundle, with the compiled code of earlier starts.',
      ],
    };
  },
};

interface Boot {
  readonly served: number;
  readonly ready: number;
  readonly bare: number;
}

async function startAgent(scope: Scope, api: BenchApi): Promise<void> {
  const { agent, key } = await api.createAgent('raw');
  const socket = join(scope.folder, 'raw.sock');
  const script = join(import.meta.dirname, '../programs/raw-backend.ts');
  const args = [socket, key.secret.toString('base64url'), key.kid, 'raw-1'];
  await lineOf(scope.start(script, args, { side: 'load' }).process, 'port ');
  await api.publish(agent, { uid: 'raw-1', address: `unix:${socket}` });
}

/** The router's own bundle, and the folder that keeps what node compiled of it. */
interface Program {
  readonly file: string;
  readonly env: Readonly<Record<string, string>>;
}

async function asStarted(scope: Scope): Promise<Program> {
  const file = await buildProgram('router', join(scope.folder, 'dist'));
  return { file, env: { NODE_COMPILE_CACHE: join(scope.folder, 'code') } };
}

async function timeBoot(api: BenchApi, { file, env }: Program): Promise<Omit<Boot, 'bare'>> {
  const port = await freePort();
  const begun = performance.now();
  const flags = ['--listen', `127.0.0.1:${port}`];
  const router = api.startFile(file, flags, { side: 'measured', env });
  const until200 = async (path: string) => {
    while (!(await answers(`http://127.0.0.1:${port}${path}`))) {
      if (performance.now() - begun > 20_000) throw new Error(`${path} is not served`);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    return performance.now() - begun;
  };
  const ready = await until200('/health?ready');
  const served = await until200(`/r${routes - 1}/apis/raw/page`);
  await router.stop();
  return { ready, served };
}

/** Each from the beginning of its write, the API's own time included, in milliseconds. */
async function timeChanges(api: BenchApi, { file, env }: Program): Promise<number[]> {
  const port = await freePort();
  const router = api.startFile(file, ['--listen', `127.0.0.1:${port}`], { side: 'measured', env });
  const at = (path: string) => `http://127.0.0.1:${port}${path}/apis/raw/page`;
  await until('the router serves', async () => (await answers(at('/r0'))) || undefined);
  const taken: number[] = [];
  for (let index = 0; index < changes; index += 1) {
    const name = `route-${index}`;
    const route = await api.client.get<Route>(routeResource, { name, namespace: 'default' });
    const begun = performance.now();
    await api.client.update<Route>(routeResource, {
      ...route,
      spec: { ...route.spec, paths: [`/changed${index}`] },
    });
    while (!(await answers(at(`/changed${index}`)))) {
      if (performance.now() - begun > 20_000) throw new Error(`the change of ${name} is not served`);
    }
    taken.push(performance.now() - begun);
  }
  await router.stop();
  return taken;
}

function answers(url: string): Promise<boolean> {
  return fetch(url).then(
    async (answer) => {
      await answer.arrayBuffer();
      return answer.ok;
    },
    () => false,
  );
}

async function bareStart(scope: Scope): Promise<number> {
  const begun = performance.now();
  const { process: child } = scope.start('-e', ['0'], { side: 'measured' });
  await new Promise((resolve) => child.once('exit', resolve));
  return performance.now() - begun;
}
