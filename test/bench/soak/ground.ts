import { join } from 'node:path';
import { type BenchAgentServer, startAgentServer } from '../harness/agent-server.ts';
import { startApi } from '../harness/api.ts';
import { cpuMicros, descriptorsOf, residentMiB } from '../harness/machine.ts';
import { createProbe, type Probe } from '../harness/probe.ts';
import { lineOf, type Scope, type Started, until } from '../harness/scope.ts';
import { freePort } from '../router-call.ts';
import type { FromSoakLoad, SoakLoadDone, SoakLoadOrder } from './order.ts';

/** What the upstream holds now, and has served. */
export interface UpstreamCount {
  readonly sessions: number;
  readonly streams: number;
  readonly calls: number;
  readonly minted: number;
}

/** One process at one moment, after a collection that gives free pages back. */
export interface Standing {
  readonly rssMiB: number;
  /** In use. */
  readonly heapMiB: number;
  /** By the heap, used or not, and for its objects outside of it. */
  readonly heldMiB: number;
  readonly descriptors: number;
  /** What keeps it alive, by kind. */
  readonly resources: Readonly<Record<string, number>>;
}

export interface Standings {
  readonly router: Standing;
  readonly agentServer: Standing;
}

export interface Both {
  readonly router: number;
  readonly agentServer: number;
}

/** Router, agent-server and its MCP server as processes of their own, and the clients as another. */
export interface SoakGround {
  tell(order: SoakLoadOrder): Promise<SoakLoadDone>;
  count(): Promise<UpstreamCount>;
  /** Whether the MCP server gives its sessions streams from now on. */
  takeStreams(does: boolean): Promise<void>;
  look(): Promise<Standings>;
  /** Open descriptors. */
  descriptors(): Both;
  /** CPU used so far, in microseconds. */
  cpu(): Both;
  readonly port: number;
}

const programs = join(import.meta.dirname, 'programs');

/** `idleMs`: after how long a session that is not used ends; `live`: how many there may be at once. */
export async function openGround(
  scope: Scope,
  { idleMs, live }: { readonly idleMs: number; readonly live: number },
): Promise<SoakGround> {
  const api = await startApi(scope);
  const upstream = scope.start(join(programs, 'upstream.ts'));
  const upstreamPort = Number(await lineOf(upstream.process, 'port '));
  const agent = await api.createAgent('soak');
  const probes = { router: createProbe(scope), agentServer: createProbe(scope) };
  const agentServer = await startAgentServer(scope, {
    ...agent,
    mcp: { upstream: { port: upstreamPort } },
    limits: {
      sessionIdleMs: idleMs,
      upstreamSessionIdleMs: idleMs,
      maxSessions: live,
      maxUpstreamSessions: live,
      maxStreams: live,
    },
    ...startWith(probes.agentServer),
  });
  await api.publish(agent.agent, { uid: agentServer.instance, address: `unix:${agentServer.socket}` });
  const port = await freePort();
  const flags = ['--listen', `127.0.0.1:${port}`];
  const router = api.startMain('router', flags, startWith(probes.router));
  const health = `http://127.0.0.1:${port}/health?ready`;
  await until('the router is ready', async () => (await fetch(health)).ok || undefined);
  const url = `http://127.0.0.1:${upstreamPort}`;
  const both = (of: (pid: number) => number) => ({
    router: of(router.pid),
    agentServer: of(agentServer.pid),
  });
  return {
    port,
    tell: startClients(scope),
    count: async () => (await (await fetch(`${url}/count`)).json()) as UpstreamCount,
    async takeStreams(does) {
      await fetch(`${url}/streams`, { method: 'POST', body: does ? 'on' : 'off' });
    },
    async look() {
      return {
        router: await stand(router, probes.router),
        agentServer: await stand(agentServer, probes.agentServer),
      };
    },
    descriptors: () => both(descriptorsOf),
    cpu: () => both((pid) => cpuMicros(pid) ?? Number.NaN),
  };
}

function startWith({ nodeFlags, env }: Probe) {
  return { nodeFlags, env };
}

async function stand({ pid }: Started | BenchAgentServer, probe: Probe): Promise<Standing> {
  const { heapUsed, heapTotal, external } = await probe.floor();
  return {
    heapMiB: heapUsed / 1_048_576,
    heldMiB: (heapTotal + external) / 1_048_576,
    rssMiB: residentMiB(pid),
    descriptors: descriptorsOf(pid),
    resources: await probe.resources(),
  };
}

function startClients(scope: Scope): SoakGround['tell'] {
  const { process: child } = scope.start(join(programs, 'load.ts'), [], { ipc: true });
  return (order) =>
    new Promise((resolve, reject) => {
      const onExit = () => reject(new Error('the clients ended'));
      child.once('exit', onExit);
      child.once('message', (message) => {
        child.off('exit', onExit);
        const answer = message as FromSoakLoad;
        if ('error' in answer) reject(new Error(answer.error));
        else resolve(answer.outcome);
      });
      child.send(order);
    });
}
