import { join } from 'node:path';
import { startAgentServer } from '../harness/agent-server.ts';
import { type BenchApi, startApi } from '../harness/api.ts';
import { checkout, lineOf, type Scope, until } from '../harness/scope.ts';
import { type HeldRouter, openHolder } from './holder.ts';

/** One agent, and routers that take turns on one listening socket. */
export interface FaultGround {
  readonly api: BenchApi;
  readonly port: number;
  startRouter(): Promise<HeldRouter>;
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
  const server = await startAgentServer(scope, { ...made, mcp: { upstream: { port: upstreamPort } } });
  await api.publish(made.agent, { uid: server.instance, address: `unix:${server.socket}` });
  const script = join(checkout, 'src/main/router.ts');
  const args = [script, '--workspace', api.paths.root, '--listen-fd', '3'];
  const env = { PATH: process.env['PATH'] ?? '', XDG_RUNTIME_DIR: join(scope.folder, 'rt') };
  const startRouter = () => holder.start(args, env);
  return {
    api,
    port: holder.port,
    startRouter,
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
