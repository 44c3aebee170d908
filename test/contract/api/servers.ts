import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { customResourceDefinitions } from '#api/crd.ts';
import { startApiServer } from '#apiserver/start.ts';
import { systemClock } from '#kit/clock.ts';
import { silentLog } from '#kit/log.ts';
import { systemRandom } from '#kit/random.ts';
import { kubeBinary } from '#test/cluster/kube/build.ts';
import { startControlPlane } from '#test/cluster/kube/control-plane.ts';
import { type Client, createClient } from './client.ts';
import { widgetDefinition } from './fixtures/widget.ts';

export interface KubectlResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A running API server, ours or the real one. */
export interface Server {
  readonly client: Client;
  readonly kubeconfig: string;
  /** Runs the real kubectl; undefined input leaves stdin empty. */
  kubectl(
    args: readonly string[],
    options?: { input?: string; env?: Record<string, string> },
  ): Promise<KubectlResult>;
  close(): Promise<void>;
}

export interface ServerUnderTest {
  readonly name: string;
  /** Why it cannot run here. */
  readonly missing: string | undefined;
  start(): Promise<Server>;
}

const definitions = [...customResourceDefinitions(), widgetDefinition];

/** Ours always; the real kube-apiserver where it can be had. `PLOINKY_REAL_API=0` leaves it out. */
export async function serversUnderTest(): Promise<{
  servers: ServerUnderTest[];
  binary: string | undefined;
}> {
  const skip = process.env['PLOINKY_REAL_API'] === '0' ? { missing: 'PLOINKY_REAL_API=0' } : undefined;
  const found = skip ?? (await kubeBinary((line) => console.error(`# ${line}`)));
  const binary = typeof found === 'string' ? found : undefined;
  const missing = typeof found === 'string' ? undefined : found.missing;
  return {
    binary,
    servers: [
      { name: 'the workspace API', missing: undefined, start: () => startOurs(binary) },
      { name: 'kube-apiserver 1.36', missing, start: () => startReal(binary ?? '') },
    ],
  };
}

async function startOurs(binary: string | undefined): Promise<Server> {
  const folder = await mkdtemp(join(tmpdir(), 'ploinky-api-'));
  const kubeconfig = join(folder, 'kubeconfig');
  const server = await startApiServer({
    definitions,
    dataFolder: join(folder, 'data'),
    socket: join(folder, 'api.sock'),
    tls: { port: 0, kubeconfig },
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
    // So few that a test can go past them.
    limits: { historyChanges: 100 },
  });
  const client = createClient({ socket: server.socket });
  return {
    client,
    kubeconfig,
    kubectl: (args, options) => runKubectl(binary ?? '', kubeconfig, folder, args, options),
    async close() {
      client.close();
      await server.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function startReal(binary: string): Promise<Server> {
  const plane = await startControlPlane(binary);
  const folder = await mkdtemp(join(tmpdir(), 'ploinky-real-'));
  const client = createClient({ url: plane.url, token: plane.token });
  for (const definition of definitions) await install(client, definition);
  return {
    client,
    kubeconfig: plane.kubeconfig,
    kubectl: (args, options) => runKubectl(binary, plane.kubeconfig, folder, args, options),
    async close() {
      client.close();
      await plane.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Installs a definition and waits until its kind is served. */
async function install(client: Client, definition: (typeof definitions)[number]): Promise<void> {
  const made = await client.send('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    body: definition,
  });
  if (made.status !== 201)
    throw new Error(`the real API server refuses ${definition.metadata.name}: ${made.text}`);
  const { group, names, versions } = definition.spec;
  const path = `/apis/${group}/${versions[0]?.name}/${names.plural}`;
  for (let tries = 0; tries < 100; tries += 1) {
    if ((await client.get(path)).status === 200) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`${path} is not served after 10 s`);
}

function runKubectl(
  binary: string,
  kubeconfig: string,
  cache: string,
  args: readonly string[],
  options: { input?: string; env?: Record<string, string> } = {},
): Promise<KubectlResult> {
  const all = ['kubectl', '--kubeconfig', kubeconfig, '--cache-dir', join(cache, 'kubectl-cache'), ...args];
  const env = { PATH: process.env['PATH'] ?? '', HOME: cache, ...options.env };
  return new Promise((resolve) => {
    const child = execFile(
      binary,
      all,
      { env, timeout: 60_000, maxBuffer: 32 << 20 },
      (error, stdout, stderr) => {
        const code = error === null ? 0 : typeof error.code === 'number' ? error.code : 1;
        resolve({ code, stdout, stderr });
      },
    );
    child.stdin?.end(options.input ?? '');
  });
}
