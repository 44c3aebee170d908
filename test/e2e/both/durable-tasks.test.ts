import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createPlace, missingPlace, type Place } from '#test/fixtures/place/place.ts';
import { type Answer, ask, untilTask } from '../agent-server/task-places.ts';

// Commands as tasks in a sandbox or pod, looked at through two routers, while their agent-server is killed.

/** Words of every process that is there, one process a line. */
const processes = `for one in /proc/[0-9]*/cmdline; do tr '\\0' ' ' < $one; echo; done 2>/dev/null`;
const question = {
  method: 'elicitation/create',
  params: { message: 'Sure?', requestedSchema: { type: 'object', properties: {} } },
};
const asks = `echo '${JSON.stringify({ inputRequests: { sure: question } })}' >&3`;
const optional = { execution: { taskSupport: 'optional' } };
const tools = [
  { name: 'quick', command: 'echo done', ...optional },
  { name: 'endless', command: 'sleep 4321', ...optional },
  { name: 'lost', command: 'sleep 4322', ...optional },
  { name: 'meet', command: `case "$(cat)" in *inputResponses*) echo met;; *) ${asks};; esac`, ...optional },
  { name: 'count', command: `${processes} | grep -c '^sleep 432'; true` },
  {
    name: 'crash',
    command: `for pid in $(ls /proc | grep '^[0-9]'); do
      case "$(tr '\\0' ' ' < /proc/$pid/cmdline 2>/dev/null)" in
        *agent-server.mjs*--config-*) kill -9 $pid;;
      esac; done; sleep 5`,
  },
];

const agent = {
  apiVersion: 'ploinky.dev/v1alpha1',
  kind: 'Agent',
  metadata: { name: 'durable' },
  spec: { mcp: { tools }, storage: { size: '16Mi' } },
};

const textIn = (result: unknown) => (result as { content?: { text: string }[] }).content?.[0]?.text ?? '';

describe('Tasks of commands', { skip: missingPlace, timeout: 300_000 }, () => {
  let place: Place;
  let here = '';
  let there = '';
  before(async () => {
    place = await createPlace({ examples: [] });
    const file = join(place.folder, 'durable.json');
    await writeFile(file, JSON.stringify(agent));
    await place.up(file);
    [here = '', there = ''] = (await place.replicas()).map((url) => `${url}/mcps/durable/mcp`);
    await untilServed(here);
    await untilServed(there);
  });
  after(() => place?.remove());

  const begin = async (name: string) =>
    (await ask(here, 'tools/call', { name, arguments: {} }))['taskId'] as string;
  const count = async () => Number(textIn(await ask(there, 'tools/call', { name: 'count', arguments: {} })));

  it('are gone when they were cancelled, at the other router', async () => {
    const taskId = await begin('endless');
    await until('it runs', async () => (await count()) > 0);
    await ask(there, 'tasks/cancel', { taskId });
    await untilTask(here, taskId, 'cancelled');
    assert.equal(await count(), 0);
  });

  it('outlive their agent-server, which is killed', async () => {
    const [finished, asking, lost] = [await begin('quick'), await begin('meet'), await begin('lost')];
    await untilTask(here, finished, 'completed');
    const { inputRequests } = await untilTask(here, asking, 'input_required');
    await until('it runs', async () => (await count()) > 0);
    const fresh = await begin('quick');
    await crash();
    await untilServed(there);
    assert.equal(textIn((await untilTask(there, finished, 'completed'))['result']), 'done\n');
    await untilTask(there, fresh, 'completed', 'failed');
    const interrupted = await untilTask(there, lost, 'failed');
    assert.equal((interrupted['error'] as { code: number }).code, -32_603);
    await until('its process is gone', async () => (await count()) === 0);
    const [key = ''] = Object.keys(inputRequests as object);
    const inputResponses = { [key]: { action: 'accept', content: {} } };
    await ask(there, 'tasks/update', { taskId: asking, inputResponses });
    assert.equal(textIn((await untilTask(here, asking, 'completed'))['result']), 'met\n');
  });

  /** In a pod the agent-server is the first process, which none of its own can kill: there the whole pod goes. */
  async function crash(): Promise<void> {
    if (place.kind === 'laptop') {
      await ask(here, 'tools/call', { name: 'crash', arguments: {} }).catch(() => undefined);
      return;
    }
    const pods = ['pod', '-l', 'ploinky.dev/agent=durable'];
    const outcome = await place.kubectl?.('delete', ...pods, '--grace-period=1');
    assert.equal(outcome?.code, 0, outcome?.stderr);
  }
  /** Until a call is answered by the agent itself. */
  async function untilServed(url: string): Promise<void> {
    await until(`${url} serves`, async () => {
      const answer: Answer = await ask(url, 'tools/call', { name: 'count', arguments: {} });
      return /^\d+\n$/.test(textIn(answer));
    });
  }
});

async function until(what: string, check: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + 90_000;
  while (!(await check().catch(() => false))) {
    if (performance.now() > end) throw new Error(`not within 90 s: ${what}`);
    await sleep(200);
  }
}
