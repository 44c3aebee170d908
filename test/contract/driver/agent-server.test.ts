import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Driver } from '#drivers/driver.ts';
import type { ObservedInstance, Workload } from '#drivers/workload.ts';
import { systemRandom } from '#kit/random.ts';
import {
  bwrapAvailability,
  bwrapDriver,
  call,
  createDriverHost,
  type DriverHost,
  ensureUntil,
  removeFully,
  workloadOf,
} from '#test/fixtures/driver-host.ts';
import { bindMessage } from '#wire/binding.ts';
import { deriveAgentKey, type WireKey } from '#wire/keys.ts';
import { mintInvocation } from '#wire/token.ts';
import { onlyInstance } from './suite.ts';

const bundle = join(import.meta.dirname, '../../../dist/agent-server.mjs');
const availability = await bwrapAvailability();
const skip = !availability.ok
  ? availability.reason
  : !existsSync(bundle) && 'dist/agent-server.mjs is not built (npm run build)';

const tools = [
  { name: 'descriptors', command: 'ls -l /proc/self/fd' },
  { name: 'status', command: 'grep -E "^(Uid|CapEff|NoNewPrivs|Seccomp):" /proc/self/status' },
  { name: 'environment', command: 'env' },
  { name: 'keys', command: 'cat /proc/$PPID/environ /proc/2/environ /proc/2/mem 2>&1; true' },
];

describe('the agent-server in a bwrap sandbox', { skip, timeout: 60_000 }, () => {
  let host: DriverHost;
  let driver: Driver;
  let workload: Workload;
  let instance: ObservedInstance;
  let key: WireKey;
  before(async () => {
    host = createDriverHost();
    driver = bwrapDriver(host, { agentServer: bundle });
    const plain = workloadOf();
    key = deriveAgentKey({ kid: 'm', secret: Buffer.alloc(32, 7) }, plain.id);
    const keys = [{ kid: key.kid, secret: key.secret.toString('base64url') }];
    workload = { ...plain, agentServer: { ...plain.agentServer, keys, mcp: { tools } } };
    instance = onlyInstance(await ensureUntil(driver, workload, ({ phase }) => phase === 'Running'));
    await untilUp(instance.address);
  });
  after(async () => {
    await removeFully(driver, workload);
    await driver.close();
    host.remove();
  });
  const callTool = (name: string) => callThroughWire(instance, workload, key, name);

  it('runs a tool as another user, without capabilities, under the filter', async () => {
    const text = await callTool('status');
    assert.match(text, /CapEff:\s0+$/m);
    assert.match(text, /NoNewPrivs:\s1$/m);
    assert.match(text, /Seccomp:\s2$/m);
    assert.doesNotMatch(text, /Uid:\s0\s/);
  });

  it('gives a tool no descriptor but its own', async () => {
    const text = await callTool('descriptors');
    const numbers = [...text.matchAll(/ (\d+) -> (\S+)/g)].filter(
      ([, , target]) => !target?.startsWith('/proc/'),
    );
    assert.ok(numbers.length >= 3, text);
    // 3 is the tool's channel for progress and questions.
    const foreign = numbers.map(([, fd]) => Number(fd)).filter((fd) => fd > 3);
    assert.deepEqual(foreign, [], text);
  });

  it('gives a tool the contract’s environment and no key', async () => {
    const text = await callTool('environment');
    for (const line of [
      'AGENT_NAME=',
      'WORKSPACE_PATH=/workspace',
      'PLOINKY_RUNTIME=bwrap',
      'HOME=/tmp',
      'PORT=7001',
    ]) {
      assert.ok(text.includes(line), `${line} is missing in ${text}`);
    }
    const secret = key.secret.toString('base64url');
    for (const name of ['environment', 'keys']) {
      const seen = await callTool(name);
      assert.ok(!seen.includes(secret) && !seen.includes(workload.egressToken), name);
    }
  });
});

/** One tools/call as the router makes it; the answer's text. */
async function callThroughWire(
  instance: ObservedInstance,
  workload: Workload,
  key: WireKey,
  name: string,
): Promise<string> {
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: {} } } as const;
  const token = mintInvocation(key, {
    agent: workload.id,
    instance: instance.uid,
    caller: 'router:first-party',
    user: null,
    call: bindMessage(message),
    mcp: { session: 's1', revision: '2025-11-25' },
    now: Date.now(),
    random: systemRandom,
  });
  const body = await postOnce(instance.address.replace(/^unix:/, ''), token, JSON.stringify(message));
  const data = body.startsWith('{') ? body : (/^data: (\{.*\})$/m.exec(body)?.[1] ?? body);
  const answer = JSON.parse(data) as { result?: { content: { text: string }[] } };
  assert.ok(answer.result !== undefined, body);
  return answer.result.content.map(({ text }) => text).join('\n');
}

/** The socket listens before the agent-server does, and a token from before its start is refused. */
async function untilUp(address: string): Promise<void> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      await call(address, '/health');
      return;
    } catch (error) {
      if (attempt > 50) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}

function postOnce(socketPath: string, token: string, body: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2025-11-25',
    };
    const outgoing = request({ socketPath, path: '/mcp', method: 'POST', headers, agent: false });
    outgoing.once('error', reject);
    outgoing.once('response', (response) => {
      let text = '';
      response.on('data', (chunk) => {
        text += String(chunk);
      });
      response.once('end', () => resolve(text));
    });
    outgoing.end(body);
  });
}
