import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { systemClock } from '#kit/clock.ts';
import { systemRandom } from '#kit/random.ts';
import { followChanges } from '#wire/changes.ts';
import type { TaskLine } from '#wire/task-line.ts';
import { openTaskLink, type TaskAnswer, type TaskRequest } from '#wire/tasks.ts';
import { temporaryFolder, testServer } from '../testing/harness.ts';

const limits = { timeout: 60_000 };
const schema = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] };
const tool = (name: string, script: string, more: object = {}) => ({
  ...{ name, description: name, command: 'sh', args: ['-c', script], inputSchema: schema },
  ...more,
});
const tools = [
  tool('count', 'echo x >> runs; wc -l < runs'),
  tool('bad', 'echo oh >&2; exit 3'),
  tool('slow', 'exec sleep 50'),
];
const target = {
  agent: { namespace: 'default', name: 'demo', uid: 'uid-1' },
  instance: 'instance-1',
  keys: [{ kid: 'test', secret: Buffer.alloc(32, 7) }],
};

/** A controller's link and change stream to an agent-server that asks for tokens. */
async function open(t: Parameters<typeof testServer>[0], folder?: string) {
  const code = folder ?? (await temporaryFolder(t));
  const { server } = await testServer(t, { code, mcp: { tools } }, { withoutTokens: false });
  const common = { ...target, address: server.address, clock: systemClock, random: systemRandom };
  const link = openTaskLink(common);
  const lines: TaskLine[] = [];
  const stop = new AbortController();
  const following = followChanges({ ...common, signal: stop.signal }, (change) => {
    if (change.type === 'task') lines.push(change);
  }).catch(() => undefined);
  const close = async () => {
    stop.abort();
    link.close();
    await following;
  };
  t.after(close);
  return { link, lines, server, close };
}

const order = (key: string, name: string, more: Partial<TaskRequest> = {}): TaskRequest => ({
  ...{ key, tool: name, input: { text: 'x' }, priority: 1 as const },
  ...more,
});
const statusOf = (answer: TaskAnswer) => (answer.kind === 'taken' ? answer.task.status : answer.kind);

function textOf({ result }: TaskLine): string {
  const { content = [] } = (result ?? {}) as { content?: { text: string }[] };
  return content.map(({ text }) => text.trim()).join('');
}

async function ended(lines: readonly TaskLine[], key: string): Promise<TaskLine> {
  for (let tries = 0; tries < 2_000; tries += 1) {
    const line = lines.find((told) => told.key === key && told.finishedAt !== null);
    if (line !== undefined) return line;
    await setTimeout(10);
  }
  return assert.fail(`${key} has not ended`);
}

test('a task runs once however often its key is sent, and its end is told', limits, async (t) => {
  const { link, lines } = await open(t);
  await Promise.all([1, 2, 3].map(() => link.submit(order('u/1', 'count'))));
  const line = await ended(lines, 'u/1');
  assert.deepEqual([line.status, line.exitCode, line.isError], ['completed', 0, false]);
  assert.deepEqual(textOf(line), '1');
  assert.equal(statusOf(await link.submit(order('u/1', 'count'))), 'completed');
  await link.submit(order('u/2', 'count'));
  const second = await ended(lines, 'u/2');
  assert.deepEqual(textOf(second), '2');
});

test('a tool that fails is told with exit code and reason', limits, async (t) => {
  const { link, lines } = await open(t);
  await link.submit(order('u/1', 'bad'));
  const { status, reason, exitCode, isError } = await ended(lines, 'u/1');
  assert.deepEqual([status, reason, exitCode, isError], ['failed', 'Failed', 3, true]);
});

test('its limit ends a task', limits, async (t) => {
  const { link, lines } = await open(t);
  await link.submit(order('u/1', 'slow', { timeoutMs: 300 }));
  const { status, reason } = await ended(lines, 'u/1');
  assert.deepEqual([status, reason], ['failed', 'TimedOut']);
});

test('a wrong tool and wrong input are refused, a key that nobody has is unknown', limits, async (t) => {
  const { link } = await open(t);
  assert.equal(statusOf(await link.submit(order('u/1', 'nope'))), 'refused');
  assert.equal(statusOf(await link.submit(order('u/2', 'count', { input: { text: 5 } }))), 'refused');
  assert.equal(statusOf(await link.submit(order('u/3', 'count', { known: true }))), 'unknown');
  assert.equal(statusOf(await link.cancel('u/3')), 'unknown');
});

test('a task is cancelled by its key while it runs', limits, async (t) => {
  const { link, lines } = await open(t);
  await link.submit(order('u/1', 'slow'));
  while (!lines.some(({ status }) => status === 'running')) await setTimeout(10);
  assert.notEqual(statusOf(await link.cancel('u/1')), 'unknown');
  assert.equal((await ended(lines, 'u/1')).status, 'cancelled');
});

test(
  'what runs is told to whoever begins to listen; after a restart it was interrupted',
  limits,
  async (t) => {
    const folder = await temporaryFolder(t);
    const first = await open(t, folder);
    await first.link.submit(order('u/1', 'slow'));
    while (!first.lines.some(({ status }) => status === 'running')) await setTimeout(10);
    const later: TaskLine[] = [];
    const stop = new AbortController();
    const address = first.server.address;
    const following = followChanges(
      { ...target, address, clock: systemClock, random: systemRandom, signal: stop.signal },
      (change) => {
        if (change.type === 'task') later.push(change);
      },
    );
    while (later.length === 0) await setTimeout(10);
    assert.deepEqual([later[0]?.key, later[0]?.status], ['u/1', 'running']);
    stop.abort();
    await following;
    await first.close();
    await first.server.close();
    const second = await open(t, folder);
    const answer = await second.link.submit(order('u/1', 'slow', { known: true }));
    assert.ok(answer.kind === 'taken');
    assert.deepEqual([answer.task.status, answer.task.reason], ['failed', 'Interrupted']);
  },
);

test('an order that is too long is refused as that', limits, async (t) => {
  const { server, link } = await open(t);
  const text = 'x'.repeat(3 * 1024 * 1024);
  const response = await fetch(`http://${server.address}/tasks`, {
    method: 'POST',
    body: JSON.stringify(order('u/1', 'count', { input: { text } })),
  });
  assert.equal(response.status, 413);
  assert.match(((await response.json()) as { message: string }).message, /larger than 2097152 bytes/);
  assert.equal(statusOf(await link.submit(order('u/1', 'count', { input: { text } }))), 'refused');
});

test('without a token of the controller nothing is taken', limits, async (t) => {
  const { server } = await open(t);
  const response = await fetch(`http://${server.address}/tasks`, {
    method: 'POST',
    body: JSON.stringify(order('u/1', 'count')),
  });
  assert.equal(response.status, 401);
});
