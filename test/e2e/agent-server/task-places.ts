import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { spawnerCommand, testConfig } from '#agent-server/testing/harness.ts';
import { systemClock } from '#kit/clock.ts';
import { silentLog } from '#kit/log.ts';
import { systemRandom } from '#kit/random.ts';
import { metaKeys, tasksExtension } from '#mcp/eras.ts';
import { nameHeaderOf } from '#mcp/headers.ts';
import { buildRouter } from '#router/app.ts';
import { type editableTables, master } from '#router/testing/harness.ts';
import { deriveAgentKey } from '#wire/keys.ts';

/** Agent-servers as processes, and routers before them. Fixtures of tests. */

const masters = [master];

export async function startRouter(
  t: TestContext,
  tables: ReturnType<typeof editableTables>,
): Promise<string> {
  const common = { clock: systemClock, random: systemRandom, log: silentLog };
  const router = buildRouter({ ...common, tables, keys: { current: () => masters }, version: '0.0.0' });
  const server = createServer(router.handle);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(async () => {
    server.closeAllConnections();
    server.close();
    await router.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

export interface Replica {
  /** `host:port`. */
  readonly address: string;
  /** Ends it as a crash does, and resolves when it has ended. */
  kill(): Promise<void>;
}

/** The agent-server of one pod of agent `tasks`: its tools are `tools`, its workspace is a folder. */
export async function startReplica(
  t: TestContext,
  folder: string,
  pod: { readonly uid: string; readonly slot: number },
  tools: readonly object[],
): Promise<Replica> {
  const identity = { namespace: 'default', name: 'tasks', uid: 'uid-tasks' };
  const { kid, secret } = deriveAgentKey(master, identity);
  const config = testConfig(folder, {
    agent: { ...identity, instance: '', principal: 'agent:default/tasks' },
    keys: [{ kid, secret: secret.toString('base64url') }],
    mcp: { tools },
    limits: { taskPollMs: 50 },
  });
  const file = join(folder, `${pod.uid}.json`);
  await writeFile(file, JSON.stringify(config));
  const args = ['--config-file', file, '--instance', pod.uid, '--listen', '127.0.0.1:0'];
  const child = spawn(process.execPath, [spawnerCommand[1] ?? '', ...args], {
    env: { ...process.env, PLOINKY_SLOT: String(pod.slot) },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = once(child, 'exit');
  t.after(() => child.kill('SIGKILL'));
  let address: string | undefined;
  for await (const line of createInterface(child.stderr)) {
    address = /"address":"([^"]+)"/.exec(line)?.[1];
    if (address !== undefined) break;
  }
  child.stderr.resume();
  assert.ok(address, 'the agent-server listens');
  return {
    address,
    async kill() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

export type Answer = Record<string, unknown> & { readonly code?: number };

/** A request of 2026-07-28 of a client that takes tasks and can be asked. */
export async function ask(url: string, method: string, params: Record<string, unknown>): Promise<Answer> {
  const capabilities = { extensions: { [tasksExtension]: {} }, elicitation: {} };
  const _meta = {
    [metaKeys.protocolVersion]: '2026-07-28',
    [metaKeys.clientCapabilities]: capabilities,
  };
  const message = { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } } as const;
  const headers = {
    ...{ 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    ...{ 'mcp-protocol-version': '2026-07-28', 'mcp-method': method },
    'mcp-name': nameHeaderOf(message) ?? '',
  };
  const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(message) });
  const { result = {}, error } = (await answer.json()) as { result?: Answer; error?: { code: number } };
  return { ...result, ...(error !== undefined && { code: error.code }) };
}

/** Asks until the task has one of these statuses; fails after 20 s. */
export async function untilTask(url: string, taskId: unknown, ...statuses: string[]): Promise<Answer> {
  const end = performance.now() + 20_000;
  for (;;) {
    const state = await ask(url, 'tasks/get', { taskId });
    if (statuses.includes(String(state['status']))) return state;
    assert.ok(performance.now() < end, `not ${statuses}: ${JSON.stringify(state)}`);
    await sleep(50);
  }
}
