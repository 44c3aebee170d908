import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noticesOf } from './events.ts';
import { redactStatus } from './redact-status.ts';
import { statusOf } from './status.ts';
import { makeAgent, makeFacts, makeObserved } from './testing.ts';

const value = 'sk-0123456789abcdef';
const run = { action: 'run', reason: 'Starting', message: '' } as const;
const observed = makeObserved({
  phase: 'Failed',
  message: `It ended with exit code 1: wrong key ${value}`,
  fault: { reason: 'CrashLoop', message: `authorization ${Buffer.from(value).toString('base64')} refused` },
});
const environment = { values: { KEY: value }, missing: [], secrets: ['KEY'], revision: 'r' };

test('conditions and Events do not show the secrets of the agent that they copy from', () => {
  const facts = makeFacts({ observed, environment });
  const bare = statusOf(facts, run, observed);
  // Without the defence it is there.
  assert.match(JSON.stringify(bare), /sk-0123456789abcdef/);
  const status = redactStatus(bare, facts);
  const shown = JSON.stringify([status, noticesOf(undefined, status)]);
  assert.match(shown, /wrong key \[redacted\]/);
  assert.doesNotMatch(shown, /sk-0123456789abcdef|c2stMDEy/);
});

test('what was told before is told again in the same words, so that nothing is written', () => {
  const facts = makeFacts({ observed, environment });
  const status = redactStatus(statusOf(facts, run, observed), facts);
  const next = { ...facts, agent: { ...makeAgent(), status } };
  assert.deepEqual(redactStatus(statusOf(next, run, observed), next), status);
});
