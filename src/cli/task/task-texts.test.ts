import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Task } from '#api/task.ts';
import type { QueueState } from '#wire/queue-state.ts';
import { createTerminal } from '../terminal.ts';
import { drawAgain, formatTop } from './format-top.ts';
import { repeatOf, slugOf } from './make-task.ts';
import type { AgentLine } from './queues.ts';

test('whatever a tool is called, names that begin with its slug are names of objects', () => {
  fc.assert(
    fc.property(fc.string({ minLength: 1, maxLength: 255, unit: 'binary' }), (tool) => {
      assert.match(`${slugOf(tool)}-x7k2p`, /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/);
    }),
  );
  assert.equal(slugOf('Search_Files.v2'), 'search-files-v2');
});

const taskWith = (spec: object, phase: string) =>
  ({ metadata: { name: 'old' }, spec: { tool: 'x', ...spec }, status: { phase } }) as unknown as Task;

test('a task that has ended is repeated with its spec; one that runs, or makes others, is not', () => {
  const { spec, annotations } = repeatOf(taskWith({ input: { a: 1 } }, 'Failed'));
  assert.deepEqual(spec, { tool: 'x', input: { a: 1 } });
  assert.deepEqual(annotations, { 'ploinky.dev/retry-of': 'old' });
  assert.throws(() => repeatOf(taskWith({}, 'Running')), /it is Running/);
  assert.throws(() => repeatOf(taskWith({ schedule: {} }, 'Failed')), /has a schedule/);
});

const queue: QueueState = {
  ...{ pending: 12, running: 1, inputRequired: 0, oldestWaitMs: 61_000 },
  finished: { completed: 5, failed: 0, cancelled: 0 },
  tasks: [{ tool: 'crunch\u001b[2J', runMs: 3_000, attempt: 2, progress: { progress: 1, total: 2 } }],
};
const line = (change: Partial<AgentLine>): AgentLine => ({
  ...{ namespace: 'default', agent: 'demo', instances: 1, answered: 1, queue, unavailable: undefined },
  ...change,
});

test('queues are a table, running tasks another one, and nothing of them moves the cursor', () => {
  const lines = formatTop({
    agents: [line({}), line({ agent: 'gone', queue: undefined, unavailable: 'CrashLoop' })],
    omitted: 3,
  });
  assert.match(lines[1] ?? '', /^demo +12 +1 +0 +5 +0 +0 +61s +3s$/);
  assert.match(lines[2] ?? '', /^gone +CrashLoop$/);
  assert.match(lines[3] ?? '', /3 more agents/);
  assert.match(lines[6] ?? '', /^demo +crunch\ufffd\[2J +3s +2 +\[#{10}·{10}\] 50 %$/);
  assert.deepEqual(formatTop({ agents: [], omitted: 0 }), ['No agents.']);
});

test('agents of several namespaces are told with theirs, and how many instances answered', () => {
  const lines = formatTop({
    agents: [line({ instances: 3, answered: 2 }), line({ namespace: 'b' })],
    omitted: 0,
  });
  assert.match(lines[1] ?? '', /^default\/demo .*\(2 of 3 answered\)$/);
  assert.match(lines[2] ?? '', /^b\/demo/);
});

test('agents that do something come first, and what does not fit a screen is not drawn', () => {
  const idle = { ...queue, pending: 0, running: 0, tasks: [] };
  const agents = Array.from({ length: 40 }, (_, at) =>
    line({ agent: `a${at}`, queue: at === 30 ? queue : idle }),
  );
  const lines = formatTop({ agents, omitted: 0 });
  assert.match(lines[1] ?? '', /^a30 /);
  assert.match(lines[2] ?? '', /^a0 /);
  let drawn = '';
  const stream = { write: (text: string) => (drawn += text), isTTY: true, columns: 30, rows: 12 };
  const count = drawAgain(createTerminal(stream, stream, {}), lines, 0);
  assert.equal(count, 11);
  assert.ok(
    drawn.split('\n').every((each) => each.length < 30),
    drawn,
  );
});
