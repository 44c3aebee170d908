import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from '#agent-server/testing/harness.ts';
import type { Agent } from '#api/agent.ts';
import { masterKey } from '#wire/testing.ts';
import { agentAt, startInstance } from './replicas.ts';

// Two routers, each a process of its own, before two instances of one agent. The one that carries a call is killed
// with SIGKILL; its client goes on at the other one.

const master = 1;
const program = fileURLToPath(new URL('./router-program.ts', import.meta.url));
const asking = fileURLToPath(new URL('../../fixtures/asking-server/main.ts', import.meta.url));

export interface RouterProcess {
  readonly url: string;
  kill(): Promise<void>;
}

async function startRouterProcess(t: TestContext, agents: readonly Agent[]): Promise<RouterProcess> {
  const child: ChildProcess = spawn(process.execPath, [program], { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  const kill = async () => {
    child.kill('SIGKILL');
    await ended;
  };
  t.after(kill);
  assert.ok(child.stdin !== null && child.stdout !== null);
  child.stdin.end(JSON.stringify({ agents, master }));
  const [port] = (await once(createInterface(child.stdout), 'line', { signal: t.signal })) as [string];
  return { url: `http://127.0.0.1:${port}`, kill };
}

/** Tells 1 to 6, each after its file is there. */
const steps = [
  'for i in 1 2 3 4 5 6; do',
  'until [ -e "$GATES/$i" ]; do sleep 0.02; done;',
  'echo "{\\"log\\":{\\"level\\":\\"info\\",\\"data\\":$i}}" >&3;',
  'done; echo "$WHO is done"; echo run >> "$GATES/runs"',
].join(' ');

export interface Setting {
  readonly routers: readonly [RouterProcess, RouterProcess];
  /** Lets the tool tell these. */
  open(...gates: readonly number[]): Promise<void>;
}

export async function startSteps(t: TestContext): Promise<Setting> {
  const gates = await temporaryFolder(t);
  const own = { mcp: { tools: [{ name: 'steps', command: steps }] }, env: { GATES: gates } };
  const limits = { streamAfterMs: 1 };
  const one = await startInstance(t, 'one', [masterKey(master)], limits, own);
  const two = await startInstance(t, 'two', [masterKey(master)], limits, own);
  const agents = [agentAt([one.endpoint(), two.endpoint()])];
  const routers = [await startRouterProcess(t, agents), await startRouterProcess(t, agents)] as const;
  return {
    routers,
    async open(...wanted) {
      for (const gate of wanted) await writeFile(join(gates, String(gate)), '');
    },
  };
}

/** An agent of two instances whose MCP server is of 2025 and asks; both put their questions to one and the same. */
export async function startAsking(t: TestContext): Promise<readonly [RouterProcess, RouterProcess]> {
  const env = { PATH: process.env['PATH'], ERAS: '2025' };
  const child = spawn(process.execPath, [asking, '--http'], { stdio: ['ignore', 'pipe', 'inherit'], env });
  t.after(() => child.kill());
  const [line] = (await once(createInterface(child.stdout), 'line', { signal: t.signal })) as [string];
  const own = { mcp: { upstream: { port: Number(/listens on (\d+)/.exec(line)?.[1]) } } };
  const one = await startInstance(t, 'one', [masterKey(master)], {}, own);
  const two = await startInstance(t, 'two', [masterKey(master)], {}, own);
  const agents = [agentAt([one.endpoint(), two.endpoint()])];
  return [await startRouterProcess(t, agents), await startRouterProcess(t, agents)];
}
