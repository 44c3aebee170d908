import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createGate } from './gate.ts';

const never = new AbortController().signal;
const gateOf = (limit: number, maxWaiting = 100) =>
  createGate({ limit, maxWaiting, onFull: () => new Error('full') });

test('a gate lets in up to its limit, then in order of arrival', async () => {
  const gate = gateOf(2);
  const order: number[] = [];
  const leaves = [await gate.enter(never), await gate.enter(never)];
  const waits = [1, 2, 3].map((n) =>
    gate.enter(never).then((leave) => {
      order.push(n);
      leaves.push(leave);
    }),
  );
  assert.deepEqual([gate.running, gate.waiting], [2, 3]);
  leaves[0]?.();
  leaves[0]?.();
  await waits[0];
  assert.deepEqual([order, gate.running, gate.waiting], [[1], 2, 2]);
  leaves[1]?.();
  leaves[2]?.();
  await Promise.all(waits);
  assert.deepEqual(order, [1, 2, 3]);
});

test('who gives up waiting loses the place and nothing else', async () => {
  const gate = gateOf(1);
  const leave = await gate.enter(never);
  const controller = new AbortController();
  const given = gate.enter(controller.signal);
  const next = gate.enter(never);
  controller.abort(new Error('gone'));
  await assert.rejects(given, /gone/);
  leave();
  (await next)();
  assert.deepEqual([gate.running, gate.waiting], [0, 0]);
  await assert.rejects(gate.enter(AbortSignal.abort(new Error('already'))), /already/);
});

test('too many waiters are refused, and a larger limit lets waiters in', async () => {
  const gate = gateOf(1, 1);
  await gate.enter(never);
  const waiting = gate.enter(never);
  await assert.rejects(gate.enter(never), /full/);
  gate.resize(2);
  await waiting;
  assert.equal(gate.running, 2);
});
