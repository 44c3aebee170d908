import type { Server } from 'node:http';
import { hostname } from 'node:os';
import { Registry } from 'prom-client';
import { systemClock } from '#kit/clock.ts';
import type { Log } from '#kit/log.ts';
import { systemRandom } from '#kit/random.ts';
import type { Client } from '#kube/client.ts';
import type { Metrics } from '#kube/metrics.ts';
import { addProcessMetrics, createPromMetrics, createStatusServer } from '../metrics.ts';
import type { HostPort } from '../options.ts';
import { openApi } from './api.ts';

/** Flags that every program of a cluster has; the environment gives what a pod knows of itself. */
export const commonFlags = {
  kubeconfig: '',
  context: '',
  'home-namespace': process.env['POD_NAMESPACE'],
  namespace: '',
};

export interface Program {
  readonly client: Client;
  readonly registry: Registry;
  readonly metrics: Metrics;
  readonly clock: typeof systemClock;
  readonly random: typeof systemRandom;
  readonly log: Log;
  readonly homeNamespace: string;
  /** The only namespace to look at; undefined: all. */
  readonly namespace: string | undefined;
  /** The pod's name, else the host's. */
  readonly podName: string;
}

/** What every program of a cluster has: its API client, its metrics and its names. */
export async function openProgram(
  name: string,
  flags: Readonly<Record<keyof typeof commonFlags, string>>,
  log: Log,
): Promise<Program> {
  const registry = new Registry();
  addProcessMetrics(registry, systemClock.now() - process.uptime() * 1000);
  const metrics = createPromMetrics(registry);
  const client = await openApi({
    kubeconfig: flags.kubeconfig,
    context: flags.context,
    env: process.env,
    userAgent: `ploinky-${name}`,
    clock: systemClock,
    metrics,
  });
  return {
    client,
    registry,
    metrics,
    clock: systemClock,
    random: systemRandom,
    log,
    homeNamespace: flags['home-namespace'],
    namespace: flags.namespace === '' ? undefined : flags.namespace,
    podName: process.env['POD_NAME'] ?? hostname().toLowerCase(),
  };
}

/** Serves health and metrics at an address of their own. Rejects when it is taken. */
export async function serveStatus(
  program: Program,
  { host, port }: HostPort,
  notReady?: () => string | undefined,
): Promise<Server> {
  const server = createStatusServer({ registry: program.registry, ...(notReady && { notReady }) });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  return server;
}
