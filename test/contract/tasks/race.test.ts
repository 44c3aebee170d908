import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type TestServer, testServer } from '#agent-server/testing/harness.ts';
import { taskResource } from '#api/resources.ts';
import type { Task } from '#api/task.ts';
import { createStand, type Stand } from './stand.ts';

// Controllers of Tasks over the workspace API and an agent-server with its durable queue: nothing runs twice, nothing
// is left.

const bounded = { timeout: 400_000 };
const mark = {
  name: 'mark',
  description: 'Notes that it ran.',
  command: 'sh',
  args: ['-c', 'read -r line; printf "%s\\n" "$line" >> ran'],
  inputSchema: { type: 'object', additionalProperties: true },
};
const nap = { ...mark, name: 'nap', args: ['-c', 'exec sleep 60'] };

async function open(t: TestContext): Promise<{ stand: Stand; server: TestServer; ran: () => number[] }> {
  const stand = await createStand(t);
  const server = await testServer(t, { mcp: { tools: [mark, nap] } });
  await stand.addAgent(server);
  const file = join(server.code, 'ran');
  const ran = () => {
    const lines = existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n') : [];
    return lines.map((line) => (JSON.parse(line) as { input: { n: number } }).input.n);
  };
  return { stand, server, ran };
}

async function until(stand: Stand, isSo: (tasks: readonly Task[]) => boolean): Promise<readonly Task[]> {
  for (let tries = 0; tries < 800; tries += 1) {
    const tasks = await stand.tasks();
    if (isSo(tasks)) return tasks;
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
  return assert.fail('it does not come about');
}

const phases = (tasks: readonly Task[]) => {
  const counts: Record<string, number> = {};
  for (const { status } of tasks) counts[status?.phase ?? ''] = (counts[status?.phase ?? ''] ?? 0) + 1;
  return counts;
};

test('of two controllers one claims each of 1,000 Tasks, and each runs once', bounded, async (t) => {
  const { stand, server, ran } = await open(t);
  const numbers = Array.from({ length: 1_000 }, (_, n) => n);
  await Promise.all([stand.control('one', server), stand.control('two', server)]);
  const begun = performance.now();
  for (let from = 0; from < numbers.length; from += 100) {
    const some = numbers.slice(from, from + 100);
    await Promise.all(some.map((n) => stand.makeTask(`race-${n}`, { input: { n } })));
  }
  const ended = await until(stand, (tasks) => tasks.every(({ status }) => status?.phase === 'Succeeded'));
  t.diagnostic(`1,000 Tasks took ${Math.round(performance.now() - begun)} ms`);
  assert.deepEqual(
    ran().toSorted((a, b) => a - b),
    numbers,
  );
  assert.deepEqual(new Set(ended.map(({ status }) => status?.attempts)), new Set([1]));
  const claims = Object.groupBy(ended, ({ status }) => status?.claimedBy ?? '');
  const counts = Object.entries(claims).map(([who, tasks = []]) => [who, tasks.length] as const);
  t.diagnostic(`claimed by ${JSON.stringify(counts)}`);
  assert.deepEqual(counts.map(([who]) => who).sort(), ['one', 'two']);
  const versions = (tasks: readonly Task[]) => tasks.map(({ metadata }) => metadata.resourceVersion);
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  assert.deepEqual(versions(await stand.tasks()), versions(ended), 'nothing is written afterwards');
});

test('a controller that comes after another one goes on with what that gave away', bounded, async (t) => {
  const { stand, server, ran } = await open(t);
  const stop = await stand.control('first', server);
  for (const n of [1, 2, 3])
    await stand.makeTask(`nap-${n}`, { tool: 'nap', input: { n }, timeoutSeconds: 4 });
  await until(stand, (tasks) => phases(tasks)['Running'] === 3);
  await stop();
  await stand.makeTask('late', { input: { n: 4 } });
  await stand.user.delete(taskResource, { namespace: 'default', name: 'nap-1' });
  await stand.control('second', server);
  const ended = await until(
    stand,
    (tasks) => phases(tasks)['TimedOut'] === 2 && phases(tasks)['Succeeded'] === 1,
  );
  assert.deepEqual(ended.map(({ metadata, status }) => [metadata.name, status?.claimedBy]).sort(), [
    ['late', 'second'],
    ['nap-2', 'first'],
    ['nap-3', 'first'],
  ]);
  assert.deepEqual(ran(), [4]);
});
