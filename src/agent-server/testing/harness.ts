import { mkdtemp, rm } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { AgentServerConfig } from '#api/agent-server-config.ts';
import { systemClock } from '#kit/clock.ts';
import { silentLog } from '#kit/log.ts';
import { systemRandom } from '#kit/random.ts';
import type { CallBinding } from '#wire/binding.ts';
import type { McpContext } from '#wire/claims.ts';
import { mintInvocation } from '#wire/token.ts';
import { type AgentServer, type AgentServerOptions, startAgentServer } from '../server.ts';
import { type Spawner, startSpawner } from '../tools/spawner-client.ts';

/** Fixtures of this folder's tests; nothing in the product imports it. */

const main = fileURLToPath(new URL('../../main/agent-server.ts', import.meta.url));
export const spawnerCommand: [string, ...string[]] = [process.execPath, main, 'spawner'];
export const startQueueThread: AgentServerOptions['startQueueThread'] = (workerData) =>
  new Worker(main, { argv: ['queue'], workerData });
export const testPath = `${process.execPath.replace(/\/[^/]*$/, '')}:/usr/local/bin:/usr/bin:/bin`;

const key = { kid: 'test', secret: Buffer.alloc(32, 7) };
const agent = { namespace: 'default', name: 'demo', uid: 'uid-1' };

/** A folder of its own that is gone after the test. */
export async function temporaryFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'agent-server-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

export function testSpawner(t: TestContext, command = spawnerCommand): Spawner {
  const spawner = startSpawner({
    command,
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
  });
  t.after(() => spawner.close());
  return spawner;
}

export function testConfig(code: string, changes: Partial<AgentServerConfig> = {}): AgentServerConfig {
  return {
    version: 1,
    agent: { ...agent, instance: 'instance-1', principal: 'agent:default/demo' },
    keys: [{ kid: key.kid, secret: key.secret.toString('base64url') }],
    env: { PATH: testPath, AGENT_NAME: 'demo' },
    paths: { code, workspace: code },
    forwards: [],
    limits: {},
    ...changes,
  };
}

export interface TestServer {
  readonly server: AgentServer;
  readonly code: string;
  readonly url: string;
  /** One POST to /mcp. */
  post(message: unknown, headers?: Record<string, string>): Promise<Answer>;
  /** One request of another kind. */
  send(method: string, path: string, headers?: Record<string, string>, body?: string): Promise<Answer>;
}

/** What tests look at in an answer; members that are not there are undefined. */
export interface JsonRpcAnswer {
  readonly id?: unknown;
  readonly result: TestResult;
  readonly error: { readonly code: number; readonly message: string; readonly data?: unknown };
  readonly task: Record<string, unknown>;
}

export interface TestResult {
  readonly [name: string]: unknown;
  readonly content: readonly { readonly type: string; readonly text: string }[];
  readonly contents: readonly { readonly uri: string; readonly text: string }[];
  readonly tools: readonly { readonly name: string; readonly inputSchema: unknown }[];
  readonly metadata: Record<string, unknown>;
}

export interface Answer {
  readonly status: number;
  readonly headers: Record<string, string | string[] | undefined>;
  readonly text: string;
  /** The JSON of the body; of an event stream, its last message. */
  readonly json: JsonRpcAnswer;
}

/** An agent-server of its own on a loopback port, with the tools of `mcp` or of the folder's file. */
export async function testServer(
  t: TestContext,
  changes: Partial<AgentServerConfig> & { readonly code?: string } = {},
  options: Partial<AgentServerOptions> = {},
): Promise<TestServer> {
  const code = changes.code ?? (await temporaryFolder(t));
  const server = await startAgentServer({
    config: testConfig(code, changes),
    listen: { type: 'tcp', host: '127.0.0.1', port: 0 },
    spawnerCommand,
    startQueueThread,
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
    withoutTokens: true,
    ...options,
  });
  // The hooks of a test that is over have run already.
  if (t.signal.aborted) await server.close();
  else t.after(() => server.close());
  await server.settled;
  const url = `http://${server.address}`;
  const send: TestServer['send'] = (method, path, headers, body) =>
    exchange(url, method, path, headers, body);
  return {
    server,
    code,
    url,
    send,
    post: (message, headers = {}) =>
      send('POST', '/mcp', { ...mcpHeaders, ...headers }, JSON.stringify(message)),
  };
}

const mcpHeaders = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };

/** The path goes out exactly as it is given: no client tidies it up. */
function exchange(
  url: string,
  method: string,
  path: string,
  headers: Record<string, string> = {},
  body?: string,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const outgoing = httpRequest({ hostname, port, path, method, headers, agent: false }, (incoming) => {
      const parts: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => parts.push(chunk));
      incoming.once('error', reject);
      incoming.once('end', () => {
        const text = Buffer.concat(parts).toString('utf8');
        resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, text, json: lastJson(text) });
      });
    });
    outgoing.once('error', reject);
    outgoing.end(body);
  });
}

function lastJson(text: string): Answer['json'] {
  const data = text
    .match(/^data: .*$/gm)
    ?.at(-1)
    ?.slice(6);
  try {
    return JSON.parse(data ?? text);
  } catch {
    return {} as JsonRpcAnswer;
  }
}

/** A token as a router mints it. */
export function tokenFor(
  call: CallBinding,
  mcp?: McpContext,
  options: { instance?: string; now?: number } = {},
): string {
  return mintInvocation(key, {
    agent,
    instance: options.instance ?? 'instance-1',
    caller: 'router:first-party',
    user: { sub: 'u1', id: 'u1', email: 'u1@example.com', username: 'u1', roles: ['admin'] },
    call,
    now: options.now ?? Date.now(),
    random: systemRandom,
    ...(mcp !== undefined && { mcp }),
  });
}

/** The id of a new session of a direct client. */
export async function openSession(
  server: Pick<TestServer, 'post'>,
  capabilities: object = {},
  protocolVersion = '2025-11-25',
): Promise<string> {
  const answer = await server.post({
    jsonrpc: '2.0',
    id: 0,
    method: 'initialize',
    params: { protocolVersion, capabilities, clientInfo: { name: 'test', version: '1' } },
  });
  return String(answer.headers['mcp-session-id']);
}

export function toolCall(name: string, args: unknown = {}, id: string | number = 1) {
  return { jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args } };
}

/** Waits until something is true; fails after `ms`. */
export async function eventually(
  what: string,
  check: () => boolean | Promise<boolean>,
  ms = 5000,
): Promise<void> {
  const end = performance.now() + ms;
  while (!(await check())) {
    if (performance.now() > end) throw new Error(`not within ${ms} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
