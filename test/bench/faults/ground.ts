import { join } from 'node:path';
import type { Agent } from '#api/agent.ts';
import { agentResource } from '#api/resources.ts';
import { startAgentServer } from '../harness/agent-server.ts';
import { type BenchApi, startApi } from '../harness/api.ts';
import { checkout, lineOf, type Scope, until } from '../harness/scope.ts';
import { type HeldRouter, openHolder } from './holder.ts';

/** One agent, and routers that take turns on one listening socket. */
export interface FaultGround {
  readonly api: BenchApi;
  readonly port: number;
  /** With these flags beside its own. */
  startRouter(...flags: string[]): Promise<HeldRouter>;
  /** Of the agent-server that runs. */
  readonly agentPid: number;
  /** Starts another agent-server and says that it is the one now. */
  replaceAgent(): Promise<void>;
  /** Calls that ran, and how many different ones. */
  count(): Promise<{ readonly runs: number; readonly texts: number }>;
}

/** The agent is `faults`; see programs/upstream.ts for its tools. */
export async function openFaultGround(scope: Scope): Promise<FaultGround> {
  const api = await startApi(scope);
  const holder = await openHolder(scope);
  const upstream = scope.start(join(import.meta.dirname, 'programs/upstream.ts'));
  const upstreamPort = Number(await lineOf(upstream.process, 'port '));
  const made = await api.createAgent('faults');
  const startAgent = async () => {
    const server = await startAgentServer(scope, {
      ...made,
      mcp: { upstream: { port: upstreamPort } },
      // A call whose client has been asked runs on, and must not keep the others waiting.
      limits: { maxParallelTasks: 256 },
    });
    const { name = '', namespace = '' } = made.agent.metadata;
    const now = await api.client.get<Agent>(agentResource, { name, namespace });
    await api.publish(now, { uid: server.instance, address: `unix:${server.socket}` });
    return server;
  };
  let agentServer = await startAgent();
  const script = join(checkout, 'src/main/router.ts');
  const args = [script, '--workspace', api.paths.root, '--listen-fd', '3'];
  const env = { PATH: process.env['PATH'] ?? '', XDG_RUNTIME_DIR: join(scope.folder, 'rt') };
  return {
    api,
    port: holder.port,
    startRouter: (...flags) => holder.start([...args, ...flags], env),
    get agentPid() {
      return agentServer.pid;
    },
    async replaceAgent() {
      agentServer = await startAgent();
    },
    count: async () =>
      (await (await fetch(`http://127.0.0.1:${upstreamPort}/count`)).json()) as {
        runs: number;
        texts: number;
      },
  };
}

export async function untilReady(port: number): Promise<void> {
  const health = `http://127.0.0.1:${port}/health?ready`;
  await until('a router is ready', async () => (await fetch(health)).ok || undefined);
}
