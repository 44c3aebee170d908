import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { systemRandom } from '#kit/random.ts';
import { metaKeys } from '#mcp/eras.ts';
import { bindMessage } from '#wire/binding.ts';
import type { McpContext } from '#wire/claims.ts';
import { mintInvocation } from '#wire/token.ts';
import type { AgentServerOptions } from '../../server.ts';
import { type TestServer, testServer } from '../../testing/harness.ts';
import type { Client, Message, Params, Transport } from '../testing.ts';

/** Agent-servers before a server with tasks of either era. Fixtures of tests. */

const fileOf = (name: string) =>
  fileURLToPath(new URL(`../../../../test/fixtures/tasks-server/${name}`, import.meta.url));
export const countingServer = fileOf('counting-server.mjs');
const files = {
  '2025': fileOf('sessions-server.mjs'),
  '2026': fileOf('stateless-server.ts'),
} as const;

export async function startTasksAgent(
  t: TestContext,
  eras: keyof typeof files,
  transport: Transport,
  limits: Record<string, number> = {},
  options: Partial<AgentServerOptions> = {},
): Promise<TestServer> {
  const file = files[eras];
  if (transport === 'stdio') {
    const env = { PATH: process.env['PATH'] ?? '' };
    const upstream = { stdio: [process.execPath, file] };
    return testServer(t, { limits, env, mcp: { upstream } }, options);
  }
  const child = spawn(process.execPath, [file, '--http'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const end = () => void child.kill();
  try {
    const lines = createInterface(child.stdout);
    const [line] = (await once(lines, 'line', { signal: t.signal })) as [string];
    const port = Number(/listens on (\d+)/.exec(line)?.[1]);
    return await testServer(t, { limits, mcp: { upstream: { port } } }, options);
  } finally {
    // After the agent-server's, since hooks run in the order in which they were made.
    if (t.signal.aborted) end();
    else t.after(end);
  }
}

export const takesTasks = { extensions: { 'io.modelcontextprotocol/tasks': {} } };
export const canAll = { elicitation: {}, sampling: {}, roots: {} };

const key = { kid: 'test', secret: Buffer.alloc(32, 7) };
let ids = 0;

/** A client of a router: a user, and a session of 2025-11-25 that can be asked this, or none. */
export function clientOf(agent: TestServer, sub: string, session?: string, can: Params = canAll) {
  const mcp: McpContext =
    session === undefined
      ? { revision: '2026-07-28', capabilities: takesTasks }
      : { revision: '2025-11-25', session, capabilities: can };
  const user = sub === '' ? null : { sub, id: sub, email: '', username: sub, roles: [] };
  return async (method: string, params: Params = {}) => {
    ids += 1;
    const { headers, _meta } = session === undefined ? envelopeOf(method, params) : {};
    const message = { jsonrpc: '2.0', id: ids, method, params: { ...params, ...(_meta && { _meta }) } };
    const token = mintInvocation(key, {
      agent: { namespace: 'default', name: 'demo', uid: 'uid-1' },
      ...{ instance: 'instance-1', caller: 'router:first-party', user, hop: 0 },
      ...{ call: bindMessage(message), now: Date.now(), random: systemRandom, mcp },
    });
    return (await agent.post(message, { ...headers, authorization: `Bearer ${token}` })).json;
  };
}

/** What a request of 2026-07-28 says of itself. */
function envelopeOf(method: string, params: Params) {
  const name = params['name'] ?? params['taskId'];
  return {
    headers: {
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...(typeof name === 'string' && { 'mcp-name': name }),
    },
    _meta: { [metaKeys.protocolVersion]: '2026-07-28', [metaKeys.clientCapabilities]: takesTasks },
  };
}

/** The id of the task that an answer says has begun, in either era. */
export function taskIn({ result, error }: Pick<Message, 'result' | 'error'>): string {
  const task = (result?.['task'] ?? result) as { taskId?: unknown } | undefined;
  if (typeof task?.taskId !== 'string') throw new Error(`no task: ${JSON.stringify(result ?? error)}`);
  return task.taskId;
}

/** Asks until the task has this status; fails after 10 s. */
export async function untilStatus(client: Client, taskId: string, status: string): Promise<Params> {
  const end = performance.now() + 10_000;
  for (;;) {
    const answer = await client.request('tasks/get', { taskId }).next();
    if (answer.result?.['status'] === status) return answer.result;
    if (performance.now() > end) throw new Error(`not ${status}: ${JSON.stringify(answer)}`);
    await sleep(20);
  }
}
