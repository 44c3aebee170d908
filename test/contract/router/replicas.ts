import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { Agent as HttpAgent, request } from 'undici';
import { type AgentServer, startAgentServer } from '#agent-server/server.ts';
import { spawnerCommand, startQueueThread, testConfig } from '#agent-server/testing/harness.ts';
import type { Agent } from '#api/agent.ts';
import type { AgentServerConfig } from '#api/agent-server-config.ts';
import { systemClock } from '#kit/clock.ts';
import { isObject } from '#kit/json.ts';
import { silentLog } from '#kit/log.ts';
import { systemRandom } from '#kit/random.ts';
import { metaKeys } from '#mcp/eras.ts';
import type { RouterLimits } from '#router/limits.ts';
import { type RunningRouter, startRouter } from '#router/start.ts';
import { type EditableTables, editableTables } from '#router/testing/harness.ts';
import { agentNamed } from '#routing/testing.ts';
import { deriveAgentKey, type MasterKey } from '#wire/keys.ts';

/** Several routers in front of several agent-servers of one agent, as real processes' parts, and clients that never rest. */

const identity = { namespace: 'default', name: 'demo', uid: 'uid-demo' };
const base = { clock: systemClock, random: systemRandom, log: silentLog };

export interface Instance {
  readonly uid: string;
  /** Its workspace, with its code. */
  readonly folder: string;
  readonly server: AgentServer;
  /** Masters whose keys it holds from now on. */
  hold(masters: readonly MasterKey[]): void;
  endpoint(change?: { ready?: boolean; terminating?: boolean }): Endpoint;
}
type Endpoint = NonNullable<NonNullable<Agent['status']>['endpoints']>[number];

export interface Replica {
  readonly router: RunningRouter;
  readonly url: string;
  /** Masters that it knows from now on. */
  hold(masters: readonly MasterKey[]): void;
  readonly tables: EditableTables;
}

const tools = {
  tools: [
    { name: 'say', command: '/bin/echo', args: ['said'] },
    { name: 'nap', command: '/bin/sh', args: ['-c', 'sleep 0.2; echo slept'] },
    { name: 'long', command: '/bin/sh', args: ['-c', 'sleep 30'] },
    { name: 'who', command: '/bin/sh', args: ['-c', 'echo $WHO'] },
    { name: 'later', command: '/bin/sh', args: ['-c', 'echo $WHO'], async: true },
  ],
};

export async function startInstance(
  t: TestContext,
  uid: string,
  masters: readonly MasterKey[],
  limits: Record<string, number> = {},
  own: {
    readonly mcp?: Record<string, unknown>;
    readonly env?: Record<string, string>;
    readonly slot?: number;
  } = {},
): Promise<Instance> {
  // A workspace each, as replicas have: one process has the queue in it.
  const folder = mkdtempSync(join(tmpdir(), 'replica-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const config = (held: readonly MasterKey[]): AgentServerConfig => ({
    ...testConfig(folder),
    agent: { ...identity, instance: uid, principal: 'agent:default/demo', ...slotOf(own) },
    keys: held
      .map((master) => deriveAgentKey(master, identity))
      .map(({ kid, secret }) => ({ kid, secret: secret.toString('base64url') })),
    mcp: own.mcp ?? tools,
    env: { ...testConfig(folder).env, WHO: uid, ...own.env },
    limits,
  });
  const server = await startAgentServer({
    ...base,
    config: config(masters),
    listen: { type: 'tcp', host: '127.0.0.1', port: 0 },
    spawnerCommand,
    startQueueThread,
  });
  t.after(() => server.close());
  await server.settled;
  return {
    uid,
    folder,
    server,
    hold: (held) => server.reconfigure(config(held)),
    endpoint: ({ ready = true, terminating = false } = {}) => ({
      name: own.slot === undefined ? uid : `demo-${own.slot}-abc`,
      uid,
      address: server.address,
      ready: ready && !terminating,
      terminating,
    }),
  };
}

function slotOf({ slot }: { readonly slot?: number }): { slot?: number } {
  return slot === undefined ? {} : { slot };
}

/** The Agent as the controller would report it. */
export function agentAt(endpoints: readonly Endpoint[]): Agent {
  const status = { endpoints: [...endpoints], toolsDigest: 'd1', conditions: [] };
  return agentNamed(identity.name, { uid: identity.uid, status });
}

export async function startReplica(
  t: TestContext,
  agents: readonly Agent[],
  masters: readonly MasterKey[],
  limits: Partial<RouterLimits> = {},
): Promise<Replica> {
  const tables = editableTables(agents);
  let held = masters;
  const router = await startRouter(
    { ...base, tables, keys: { current: () => held }, version: '0.0.0', limits },
    { public: { host: '127.0.0.1', port: 0 } },
  );
  let closing: Promise<void> | undefined;
  const once = {
    ...router,
    close() {
      closing ??= router.close();
      return closing;
    },
  };
  t.after(() => once.close());
  return {
    router: once,
    url: `http://127.0.0.1:${router.port}`,
    tables,
    hold(next) {
      held = next;
    },
  };
}

export interface Load {
  /** Calls that were answered as they should be. */
  readonly done: () => number;
  /** What went wrong, in words. */
  readonly failures: string[];
  /** Ends after the calls that run. */
  stop(): Promise<void>;
}

/**
 * Clients with a session of 2025-11-25 each, kept-alive connections, and calls of both eras in turns, at the routers
 * that `routers` gives at that moment. A client goes to any of them with the same session.
 */
export function startLoad(
  routers: () => readonly string[],
  options: { readonly clients?: number; readonly pauseMs?: number; readonly freshSessions?: boolean } = {},
): Load {
  const { clients = 8, pauseMs = 20 } = options;
  const failures: string[] = [];
  const dispatcher = new HttpAgent({ keepAliveTimeout: 60_000, pipelining: 1 });
  let done = 0;
  let stopped = false;
  let turn = 0;
  const next = () => {
    const list = routers();
    const url = list[turn++ % list.length];
    assert.ok(url !== undefined, 'no router is ready');
    return url;
  };
  async function attempt(what: string, call: () => Promise<void>): Promise<void> {
    try {
      await call();
      done += 1;
    } catch (error) {
      failures.push(`${what}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  async function client(number: number): Promise<void> {
    let session: Record<string, string> | undefined;
    for (let round = 0; !stopped; round += 1) {
      const path = round % 2 === 0 ? '/mcp' : '/mcps/demo/mcp';
      if (options.freshSessions || session === undefined) {
        await attempt('initialize', async () => {
          session = await openSession(dispatcher, `${next()}/mcp`);
        });
      }
      const tool = number % 4 === 0 ? 'nap' : 'say';
      if (session !== undefined) {
        const held = session;
        await attempt('in a session', () => callInSession(dispatcher, `${next()}/mcp`, held, tool));
      }
      await attempt('stateless', () => callStateless(dispatcher, next() + path, tool));
      await systemClock.sleep(pauseMs);
    }
  }
  const running = Promise.all(Array.from({ length: clients }, (_, number) => client(number)));
  return {
    done: () => done,
    failures,
    async stop() {
      stopped = true;
      await running;
      await dispatcher.close();
    },
  };
}

const accept = 'application/json, text/event-stream';

export async function post(
  dispatcher: HttpAgent,
  url: string,
  headers: Record<string, string>,
  message: object,
) {
  const answer = await request(url, {
    dispatcher,
    method: 'POST',
    headers: { 'content-type': 'application/json', accept, ...headers },
    body: JSON.stringify(message),
  });
  return { status: answer.statusCode, headers: answer.headers, text: await answer.body.text() };
}

export async function openSession(dispatcher: HttpAgent, url: string): Promise<Record<string, string>> {
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } };
  const answer = await post(dispatcher, url, {}, { jsonrpc: '2.0', id: 0, method: 'initialize', params });
  const id = answer.headers['mcp-session-id'];
  if (typeof id !== 'string') throw new Error(`no session: ${answer.status} ${answer.text}`);
  return { 'mcp-session-id': id, 'mcp-protocol-version': '2025-11-25' };
}

async function callInSession(
  dispatcher: HttpAgent,
  url: string,
  session: Record<string, string>,
  name: string,
): Promise<void> {
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: {} } };
  check(await post(dispatcher, url, session, message));
}

async function callStateless(dispatcher: HttpAgent, url: string, name: string): Promise<void> {
  const meta = { [metaKeys.protocolVersion]: '2026-07-28', [metaKeys.clientCapabilities]: {} };
  const params = { _meta: meta, name, arguments: {} };
  const headers = {
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'tools/call',
    'mcp-name': name,
  };
  check(await post(dispatcher, url, headers, { jsonrpc: '2.0', id: 1, method: 'tools/call', params }));
}

function check({ status, text }: { status: number; text: string }): void {
  // A call that takes its time is answered by a stream, which begins with an event without data.
  const json: unknown = JSON.parse(/^data: (.+)$/m.exec(text)?.[1] ?? text);
  const result = isObject(json) ? json['result'] : undefined;
  const said = JSON.stringify(result);
  if (status === 200 && isObject(result) && result['isError'] !== true && /said|slept/.test(said)) return;
  throw new Error(`${status} ${text}`);
}
