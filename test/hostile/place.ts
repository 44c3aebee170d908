import { join } from 'node:path';
import type { Secret } from '#api/meta.ts';
import { secretResource } from '#api/resources.ts';
import { type MasterKey, masterKeysFromSecret, masterSecretName } from '#wire/keys.ts';
import { startAgentServer } from '../bench/harness/agent-server.ts';
import { type BenchApi, startApi } from '../bench/harness/api.ts';
import { createProbe, type Probe } from '../bench/harness/probe.ts';
import { lineOf, type Scope, type Started, until } from '../bench/harness/scope.ts';
import { freePort } from '../bench/router-call.ts';

/** A process under attack, and how it feels. */
export interface Attacked extends Started {
  readonly port: number;
  readonly probe: Probe;
}

/** The deployed path: API, router and agent-server as processes of their own. */
export interface Place {
  readonly scope: Scope;
  readonly api: BenchApi;
  readonly router: Attacked;
  /** Another router of the same agents, with other flags: a control without a defence. */
  startRouter(flags: readonly string[], nodeFlags?: readonly string[]): Promise<Attacked>;
  /** The last requests of clients that reached the agent `honest`. */
  seen(): Promise<readonly string[]>;
  /** How many did, since it began. */
  seenCount(): Promise<number>;
  readonly masters: () => Promise<readonly MasterKey[]>;
}

const programs = join(import.meta.dirname, 'programs');

/**
 * Starts a router before two agents: `honest`, which the router reaches directly and which writes down what it gets,
 * and `real`, the same MCP server behind the product's agent-server.
 */
export async function startPlace(scope: Scope): Promise<Place> {
  const api = await startApi(scope);
  const backend = await startHonest(scope, api);
  const startRouter = (flags: readonly string[], nodeFlags: readonly string[] = []) =>
    startRouterOf(scope, api, flags, nodeFlags);
  return {
    scope,
    api,
    router: await startRouter([]),
    startRouter,
    seen: async () => (await lookAt(backend)).last,
    seenCount: async () => (await lookAt(backend)).count,
    masters: async () =>
      masterKeysFromSecret(
        await api.client.get<Secret>(secretResource, { namespace: 'default', name: masterSecretName }),
      ),
  };
}

async function lookAt(port: number): Promise<{ readonly count: number; readonly last: readonly string[] }> {
  const answer = await fetch(`http://127.0.0.1:${port}/seen`);
  return (await answer.json()) as { count: number; last: string[] };
}

async function startHonest(scope: Scope, api: BenchApi): Promise<number> {
  const honest = await api.createAgent('honest');
  const socket = join(scope.folder, 'honest.sock');
  const args = [socket, honest.key.secret.toString('base64url'), honest.key.kid, 'honest-1'];
  const started = scope.start(join(programs, 'honest-agent.ts'), args);
  const port = Number(await lineOf(started.process, 'port '));
  await api.publish(honest.agent, { uid: 'honest-1', address: `unix:${socket}` });
  const real = await api.createAgent('real');
  const server = await startAgentServer(scope, { mcp: { upstream: { port, path: '/mcp' } }, ...real });
  await api.publish(real.agent, { uid: server.instance, address: `unix:${server.socket}` });
  return port;
}

async function startRouterOf(
  scope: Scope,
  api: BenchApi,
  flags: readonly string[],
  nodeFlags: readonly string[],
): Promise<Attacked> {
  const port = await freePort();
  const probe = createProbe(scope);
  const started = api.startMain('router', ['--listen', `127.0.0.1:${port}`, ...flags], {
    nodeFlags: [...probe.nodeFlags, ...nodeFlags],
    env: probe.env,
    side: 'measured',
  });
  const health = `http://127.0.0.1:${port}/health?ready`;
  await until('the router is ready', async () => (await fetch(health)).ok || undefined);
  return { ...started, port, probe };
}
