import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startApi } from '../harness/api.ts';
import { CannotRun } from '../harness/bench.ts';
import { childrenOf } from '../harness/machine.ts';
import { lineOf, requirePeers, type Scope, type Side, until } from '../harness/scope.ts';
import { freePort } from '../router-call.ts';
import { ensureBuilt, rustProxy, vmcp } from './builds.ts';
import { callTarget, listTarget } from './mcp-target.ts';
import type { Target } from './wrk.ts';

/** One way to reach the same kind of backend. */
export interface Way {
  readonly title: string;
  readonly kind: 'direct' | 'own' | 'npm' | 'rust' | 'go';
  readonly call: Target;
  readonly list?: Target;
  /** Whose CPU a call costs. */
  readonly pids: readonly number[];
}

const programs = join(import.meta.dirname, '../programs');

/** The backend called directly, and the router before it. */
export async function openOwnWays(scope: Scope): Promise<{ ways: Way[]; backendPort: number }> {
  const api = await startApi(scope);
  const raw = await api.createAgent('raw');
  const secret = raw.key.secret.toString('base64url');
  const startBackend = async (side: Side) => {
    const socket = join(scope.folder, `raw-${side}.sock`);
    const args = [socket, secret, raw.key.kid, 'raw-1'];
    const started = scope.start(join(programs, 'raw-backend.ts'), args, { side });
    return { socket, pid: started.pid, port: Number(await lineOf(started.process, 'port ')) };
  };
  const measured = await startBackend('measured');
  const backend = await startBackend('load');
  await api.publish(raw.agent, { uid: 'raw-1', address: `unix:${backend.socket}` });
  const port = await freePort();
  const router = api.startMain('router', ['--listen', `127.0.0.1:${port}`], { side: 'measured' });
  const health = `http://127.0.0.1:${port}/health?ready`;
  await until('the router is ready', async () => (await fetch(health)).ok || undefined);
  const ways: Way[] = [
    {
      title: 'backend directly',
      kind: 'direct',
      call: await callTarget(measured.port, '/mcp'),
      list: await listTarget(measured.port, '/mcp'),
      pids: [measured.pid],
    },
    ...(await Promise.all(
      ['/mcp', '/mcps/raw/mcp'].map(async (path) => ({
        title: `router, ${path}`,
        kind: 'own' as const,
        call: await callTarget(port, path),
        list: await listTarget(port, path),
        pids: [router.pid],
      })),
    )),
  ];
  return { ways, backendPort: backend.port };
}

export type Open = (scope: Scope, backendPort: number) => Promise<Way>;

/** Other people's gateways, each with its own defaults; those that take stdio servers only have one behind them. */
export const peers: Readonly<Record<string, Open>> = {
  'npm mcp-proxy': async (scope) => {
    const port = await freePort();
    const flags = ['--port', `${port}`, '--host', '127.0.0.1', '--server', 'stream', '--', ...stdioBackend];
    const { pid } = scope.start(inPeers('mcp-proxy/dist/bin/mcp-proxy.mjs'), flags, { side: 'measured' });
    return opened('npm mcp-proxy 6.7.19 (stdio)', 'npm', port, '/mcp', pid);
  },
  supergateway: async (scope) => {
    const port = await freePort();
    const flags = ['--stdio', stdioBackend.join(' '), '--outputTransport', 'streamableHttp', '--stateful'];
    const options = { side: 'measured', env: { HOST: '127.0.0.1' } } as const;
    const args = [...flags, '--port', `${port}`, '--logLevel', 'none'];
    const { pid } = scope.start(inPeers('supergateway/dist/index.js'), args, options);
    return opened('npm supergateway 4.0.0 (stdio)', 'npm', port, '/mcp', pid);
  },
  'mcp-hub': openHub,
  '@civic/passthrough-mcp-server': async (scope, backendPort) => {
    const port = await freePort();
    const env = {
      PORT: `${port}`,
      TARGET_SERVER_URL: `http://127.0.0.1:${backendPort}`,
      TARGET_SERVER_TRANSPORT: 'httpStream',
      TARGET_SERVER_MCP_PATH: '/mcp',
      LOG_LEVEL: 'error',
    };
    const script = inPeers('@civic/passthrough-mcp-server/dist/cli.js');
    const { pid } = scope.start(script, [], { side: 'measured', env });
    return opened('npm @civic/passthrough-mcp-server 0.12.1', 'npm', port, '/mcp', pid);
  },
  'Rust mcp-proxy': openRust,
  'ToolHive vmcp': openVmcp,
};

const stdioBackend = [process.execPath, join(programs, 'stdio-backend.mjs')];

function inPeers(file: string): string {
  return join(requirePeers(), 'node_modules', file);
}

/** With its children, since it cannot be called without them. */
async function opened(
  title: string,
  kind: Way['kind'],
  port: number,
  path: string,
  pid: number,
  tool = 'noop',
): Promise<Way> {
  const call = await until(`${title} answers`, () => callTarget(port, path, tool), 30_000);
  const list = await listTarget(port, path, `"${tool}"`);
  return { title, kind, call, list, pids: [pid, ...childrenOf(pid)] };
}

/** Its MCP endpoint speaks the transport of 2024 only; so the calls of its own HTTP interface, which cost it less. */
async function openHub(scope: Scope, backendPort: number): Promise<Way> {
  const port = await freePort();
  const config = join(scope.folder, 'hub.json');
  const servers = { raw: { url: `http://127.0.0.1:${backendPort}/mcp` } };
  writeFileSync(config, JSON.stringify({ mcpServers: servers }));
  const flags = ['--port', `${port}`, '--config', config];
  const { pid } = scope.start(inPeers('mcp-hub/dist/cli.js'), flags, { side: 'measured' });
  const text = 'what went out comes back';
  const body = JSON.stringify({ server_name: 'raw', tool: 'noop', arguments: { text } });
  const headers = { 'content-type': 'application/json' };
  const path = '/api/servers/tools';
  await until(
    'mcp-hub answers',
    async () => {
      const url = `http://127.0.0.1:${port}${path}`;
      const answer = await fetch(url, { method: 'POST', headers, body });
      return (await answer.text()).includes(text) || undefined;
    },
    30_000,
  );
  const call = { port, path, headers, body, expected: text };
  return { title: 'npm mcp-hub 4.2.1 (its HTTP interface)', kind: 'npm', call, pids: [pid] };
}

async function openRust(scope: Scope, backendPort: number): Promise<Way> {
  const program = await ensureBuilt(rustProxy);
  const port = await freePort();
  const config = join(scope.folder, 'rust.toml');
  const backend = `[[backends]]\nname = "raw"\ntransport = "http"\nurl = "http://127.0.0.1:${backendPort}/mcp"\n`;
  const listen = `[proxy.listen]\nhost = "127.0.0.1"\nport = ${port}\n`;
  // Quieter than it is by default: it would write a line of its own about each call's parts.
  const quiet =
    '[observability]\naudit = false\nlog_level = "warn"\n[observability.metrics]\nenabled = false\n';
  writeFileSync(config, `[proxy]\nname = "bench"\nseparator = "_"\n\n${listen}\n${quiet}\n${backend}`);
  const { pid } = scope.run(program, ['--config', config], { side: 'measured' });
  return opened('Rust mcp-proxy 0.6.0', 'rust', port, '/', pid, 'raw_noop');
}

async function openVmcp(scope: Scope, backendPort: number): Promise<Way> {
  const program = await ensureBuilt(vmcp);
  const port = await freePort();
  const config = join(scope.folder, 'vmcp.yaml');
  const settings = {
    name: 'bench',
    groupRef: 'bench',
    incomingAuth: { type: 'anonymous' },
    outgoingAuth: { source: 'inline', default: { type: 'unauthenticated' } },
    aggregation: { conflictResolution: 'prefix', conflictResolutionConfig: { prefixFormat: '{workload}_' } },
    backends: [{ name: 'raw', url: `http://127.0.0.1:${backendPort}/mcp`, transport: 'streamable-http' }],
  };
  writeFileSync(config, JSON.stringify(settings));
  const flags = ['serve', '--config', config, '--port', `${port}`];
  const { pid } = scope.run(program, flags, { side: 'measured' });
  return opened('ToolHive vmcp 0.47.0 (Go)', 'go', port, '/mcp', pid, 'raw_noop');
}

export function whyNot(error: unknown): string {
  if (error instanceof CannotRun) return error.message;
  const cause = error instanceof Error && error.cause instanceof Error ? `: ${error.cause.message}` : '';
  return `${error instanceof Error ? error.message : String(error)}${cause}`;
}
