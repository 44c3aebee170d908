import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Server } from './servers.ts';
import { applySteps } from './steps/apply.ts';
import { coreSteps } from './steps/core.ts';
import { deleteSteps } from './steps/delete.ts';
import { objectSteps } from './steps/objects.ts';
import type { Step } from './steps/step.ts';
import { createBench } from './suite.ts';

/** Run in order in one namespace on both servers; each answer must be the same but for names, times and versions. */
const steps: readonly Step[] = [...objectSteps, ...applySteps, ...deleteSteps, ...coreSteps];

/** Their texts may differ (ours names the field more plainly, or the real one repeats itself); code and reason must not. */
const looseNames = new Set([
  'refuses another version',
  'refuses a label that is no string',
  'refuses a fraction for an integer',
  'refuses several at once',
  'refuses a spec of another type',
  'refuses a bad label selector',
  'refuses unknown fields in a merge when strict',
  'refuses a patch that is no list',
  'refuses a wrong status',
  'takes no text',
  'takes no broken JSON',
  'refuses bad base64',
  'refuses what is wrong',
]);

/** Compares two servers answer by answer. */
export function compareAnswers(running: () => readonly Server[]): void {
  test('answers are the same, request by request', { timeout: 120_000 }, async (t) => {
    const servers = running();
    if (servers.length < 2) return t.skip('SKIPPED: needs our server and the real one');
    const spaces = await Promise.all(servers.map((server) => createBench(server).namespace()));
    for (const step of steps) {
      const answers: unknown[] = [];
      for (const [index, server] of servers.entries())
        answers.push(await run(server, step, spaces[index] ?? ''));
      await t.test(step.name, () => assert.deepEqual(answers[0], answers[1]));
    }
  });
}

async function run(server: Server, step: Step, namespace: string): Promise<unknown> {
  const fill = (text: string) => text.replaceAll('$ns', namespace);
  const body = step.body === undefined ? undefined : JSON.parse(fill(JSON.stringify(step.body)));
  const answer = await server.client.send(step.method, fill(step.path), {
    ...(body === undefined ? {} : { body }),
    ...(step.type === undefined ? {} : { type: step.type }),
    ...(step.headers === undefined ? {} : { headers: step.headers }),
  });
  if (looseNames.has(step.name)) return { status: answer.status, reason: answer.body?.reason };
  return {
    status: answer.status,
    warnings: answer.headers['warning'] ?? '',
    body: normalize(answer.body, namespace),
  };
}

const volatile = new Set([
  'uid',
  'resourceVersion',
  'creationTimestamp',
  'deletionTimestamp',
  'time',
  'selfLink',
]);

const byText = (left: unknown, right: unknown) => (JSON.stringify(left) < JSON.stringify(right) ? -1 : 1);

/** Causes that the real server repeats count once; conflicts come in no order. */
function distinct(list: unknown[]): unknown[] {
  const seen = new Set<string>();
  const sorted = list.some((item) => JSON.stringify(item).includes('FieldManagerConflict'))
    ? list.toSorted(byText)
    : list;
  return sorted.filter((item) => {
    const text = JSON.stringify(item);
    const fresh = !text.includes('FieldValue') || !seen.has(text);
    seen.add(text);
    return fresh;
  });
}

/** Replaces what must differ: names of namespaces, identities, versions and times. Drops empty descriptions. */
function normalize(value: unknown, namespace: string): unknown {
  if (typeof value === 'string')
    return value
      .replaceAll(namespace, '$ns')
      .replace(/^\d+s$/, '<age>')
      .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<uid>');
  if (Array.isArray(value)) return distinct(value.map((item) => normalize(item, namespace)));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, member]) => {
    if (volatile.has(key) && typeof member === 'string') return [key, `<${key}>`];
    return [key, key === 'description' ? '' : normalize(member, namespace)];
  });
  return Object.fromEntries(entries);
}
