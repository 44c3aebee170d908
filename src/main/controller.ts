import { existsSync, rmSync } from 'node:fs';
import { hostname } from 'node:os';
import { basename, join } from 'node:path';
import { Registry } from 'prom-client';
import { startManager } from '#controllers/manager.ts';
import type { Driver } from '#drivers/driver.ts';
import { probeLimits } from '#drivers/host/limits.ts';
import type { HostPlaces } from '#drivers/host/places.ts';
import { createLaptopDrivers } from '#drivers/laptop.ts';
import { systemClock } from '#kit/clock.ts';
import { systemRandom } from '#kit/random.ts';
import { createClient } from '#kube/client.ts';
import { unixEndpoint } from '#kube/endpoint.ts';
import { hostFacts, locateWorkspace } from '#workspace/host.ts';
import type { WorkspacePaths } from '#workspace/paths.ts';
import { splitEnvironment } from '#workspace/secrets/environment.ts';
import { openWorkspaceSecrets } from '#workspace/secrets/open.ts';
import { openWorkspaceSources } from '#workspace/secrets/sources.ts';
import { findCaBundle, trySystemdScope } from './host-facts.ts';
import { createLog } from './log.ts';
import { createPromMetrics, createStatusServer } from './metrics.ts';
import { parseFlags } from './options.ts';
import { type Running, runUntilEnded } from './run.ts';

/**
 * The controller of one workspace: `--workspace DIR --router-port N`. Sandboxes outlive it and are adopted by the
 * next one.
 * Its health and metrics are at `controller.sock` of the workspace's runtime folder.
 */
const log = createLog('controller');
const checkout = join(import.meta.dirname, '../..');

/** The shims look at the lease twice a second and end after half a minute of looks without a change. */
const leaseTicks = { tickMs: 500, staleTicks: 60 };

async function start(): Promise<Running> {
  const flags = parseFlags(process.argv.slice(2), {
    workspace: undefined,
    'router-port': undefined,
    environment: '',
  });
  const handed = flags.environment === 'stdin' ? readHanded() : Promise.resolve({});
  const paths = await locateWorkspace(flags.workspace, process.env);
  const registry = new Registry();
  const metrics = createPromMetrics(registry);
  const client = createClient({
    metrics,
    endpoint: unixEndpoint(paths.apiSocket),
    clock: systemClock,
    userAgent: 'ploinky-controller',
  });
  const drivers = await createDrivers(paths, Number(flags['router-port']));
  const aliases = await openAliases(paths, await handed);
  const manager = await startManager({
    metrics,
    client,
    drivers,
    host: { codeRoot: paths.root },
    aliases,
    homeNamespace: 'default',
    identity: hostname(),
    clock: systemClock,
    random: systemRandom,
    log,
  });
  rmSync(paths.controllerSocket, { force: true });
  const status = createStatusServer({ registry }).listen(paths.controllerSocket);
  return {
    async close() {
      status.close();
      await manager.stop();
      aliases.close();
      await client.close();
    },
  };
}

/** The first line of standard input: what of the environment of `ploinky up` may be secret. The pipe stays open. */
function readHanded(): Promise<Record<string, string>> {
  return new Promise((resolve, reject) => {
    let text = '';
    const onData = (chunk: Buffer) => {
      text += chunk.toString('latin1');
      if (!text.endsWith('\n')) return;
      process.stdin.off('data', onData);
      resolve(JSON.parse(Buffer.from(text, 'latin1').toString('utf8')));
    };
    process.stdin.on('data', onData);
    process.stdin.once('end', () => reject(new Error('standard input ended before the environment came')));
  });
}

async function openAliases(paths: WorkspacePaths, handed: Readonly<Record<string, string>>) {
  const { uid } = hostFacts(process.env);
  const { own } = splitEnvironment(process.env);
  const environment = { ...own, ...handed };
  const store = await openWorkspaceSecrets(paths, { env: environment, uid, random: systemRandom });
  const files = [paths.secrets, paths.masterKey];
  return openWorkspaceSources({ root: paths.root, files, store, environment, uid, log });
}

async function createDrivers(paths: WorkspacePaths, routerPort: number): Promise<readonly Driver[]> {
  const { uid } = hostFacts(process.env);
  const caBundle = findCaBundle();
  return createLaptopDrivers({
    platform: process.platform,
    arch: process.arch,
    node: process.execPath,
    agentFiles: agentFiles(join(checkout, 'dist')),
    npm: join(checkout, 'node_modules/npm'),
    routerUrl: `http://127.0.0.1:${routerPort}`,
    places: placesOf(paths),
    shim: { node: process.execPath, main: join(checkout, 'dist/shim.mjs') },
    sockets: { router: paths.routerSocket, egress: paths.egressSocket },
    lease: { path: paths.lease, ...leaseTicks },
    limits: await probeLimits({
      group: `ploinky-${basename(paths.runtime)}`,
      isRoot: uid === 0,
      trySystemd: () => trySystemdScope(process.env),
    }),
    self: { uid, gid: process.getgid?.() ?? uid },
    ...(caBundle === undefined ? {} : { caBundle }),
    clock: systemClock,
    random: systemRandom,
    log,
  });
}

/** The reaper only where it could be built. */
function agentFiles(dist: string) {
  const reaper = join(dist, 'reaper');
  return {
    'agent-server.mjs': join(dist, 'agent-server.mjs'),
    ...(existsSync(reaper) && { reaper }),
  };
}

function placesOf(paths: WorkspacePaths): HostPlaces {
  return {
    root: paths.root,
    state: paths.state,
    workloads: paths.workloads,
    files: join(paths.running, 'w'),
    deps: paths.deps,
    shared: paths.shared,
    workspace: ({ name }) => paths.agents(name),
    log: ({ name }) => paths.agentLog(name),
  };
}

runUntilEnded(log, start);
