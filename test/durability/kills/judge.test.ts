import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Evidence, judge, type Told } from './judge.ts';
import type { Ordered } from './ledger.ts';

const taskOf = (number: number, more: Partial<Ordered> = {}): Ordered => ({
  ...{ number, code: 0, bytes: 3, die: '-', retries: 5, boot: 1 },
  ...{ id: `id${number}`, isMoved: false, doneIn: undefined, ...more },
});
const toldOf = (number: number, more: Partial<Told> = {}): Told => ({
  ...{ status: 'completed', exitCode: 0, reason: null, attempt: 1 },
  result: { content: [{ text: String(number).padStart(3, '0') }] },
  ...more,
});
const evidence = (more: Partial<Evidence> = {}): Evidence => ({
  tasks: [0, 1, 2].map((number) => taskOf(number)),
  told: new Map([0, 1, 2].map((number) => [number, toldOf(number)])),
  marks: 'S 0 1\nE 0 1\nS 1 1\nE 1 1\nS 2 1\nE 2 1\n',
  parallel: new Map([
    [1, 1],
    [2, 1],
  ]),
  ...more,
});
const problemsOf = (more: Partial<Evidence>) => judge(evidence(more)).problems;
const withTold = (number: number, told: Told | null) => {
  return { told: new Map(evidence().told).set(number, told) };
};

test('good evidence is no problem', () => {
  assert.deepEqual(problemsOf({}), []);
  assert.deepEqual(problemsOf({ marks: 'S 0 1\nS 0 2\nE 0 2\nS 1 2\nS 2 2\n' }), [], 'it ran at the kill');
});

test('what is lost, wrong or given up is told', () => {
  assert.match(problemsOf(withTold(1, null))[0] ?? '', /task 1 is lost/);
  assert.match(problemsOf(withTold(1, toldOf(1, { status: 'pending' })))[0] ?? '', /is pending/);
  assert.match(problemsOf(withTold(1, toldOf(1, { exitCode: 2 })))[0] ?? '', /exit code 2/);
  assert.match(problemsOf(withTold(1, toldOf(2)))[0] ?? '', /not what it wrote/);
  assert.match(problemsOf(withTold(1, toldOf(1, { reason: 'Interrupted' })))[0] ?? '', /given up/);
});

test('what overtakes is told, unless it may run beside it', () => {
  const marks = 'S 1 1\nS 0 1\nS 2 1\n';
  assert.match(problemsOf({ marks })[0] ?? '', /task 1 started in life 1 before 1 older/);
  assert.deepEqual(problemsOf({ marks, parallel: new Map([[1, 2]]) }), []);
});

test('what runs again and must not is told', () => {
  const again = 'S 0 1\nS 1 1\nS 2 1\nS 0 2\n';
  const done = [taskOf(0, { doneIn: 1 }), taskOf(1), taskOf(2)];
  assert.match(problemsOf({ marks: again, tasks: done })[0] ?? '', /was done in life 1 and ran in 2/);
  const once = [taskOf(0, { retries: 0 }), taskOf(1), taskOf(2)];
  assert.match(problemsOf({ marks: again, tasks: once })[0] ?? '', /ran twice and must not/);
  assert.match(problemsOf({ marks: `${again}S 1 2\n` })[0] ?? '', /2 tasks of life 1 ran again; 1 could run/);
  assert.match(problemsOf({ marks: 'S 0 1\nS 0 1\nS 1 1\nS 2 1\n' })[0] ?? '', /ran twice in life 1/);
  assert.match(problemsOf({ marks: 'S 0 1\nS 1 1\nS 2 1\nS 7 1\n' })[0] ?? '', /never ordered/);
});
