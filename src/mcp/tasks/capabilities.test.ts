import assert from 'node:assert/strict';
import { test } from 'node:test';
import { askableCapabilities } from '../bridge/capabilities.ts';
import { declaresTasks, missingTasks, sessionTasksIn, taskSupportOf } from './capabilities.ts';

test('a client of 2026-07-28 takes tasks when it declares the extension', () => {
  assert.equal(declaresTasks({ extensions: { 'io.modelcontextprotocol/tasks': {} } }), true);
  for (const extensions of [
    undefined,
    {},
    { 'io.modelcontextprotocol/tasks': true },
    'io.modelcontextprotocol/tasks',
  ])
    assert.equal(declaresTasks({ extensions }), false);
});

test('a client without it is told what it lacks (K4)', () => {
  const { code, data } = missingTasks();
  assert.equal(code, -32_021);
  assert.deepEqual(data, { requiredCapabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } } });
});

test('of what a server of 2025-11-25 announces, tasks of tool calls are passed on (R12)', () => {
  const tasks = { list: {}, cancel: {}, requests: { tools: { call: {} } } };
  assert.deepEqual(sessionTasksIn({ tasks }), tasks);
  assert.deepEqual(sessionTasksIn({ tasks: { requests: { tools: { call: {} }, prompts: {} } } }), {
    requests: { tools: { call: {} } },
  });
  for (const none of [undefined, {}, { list: {} }, { requests: { sampling: { createMessage: {} } } }])
    assert.equal(sessionTasksIn({ tasks: none }), undefined);
});

test('a tool that says nothing is no task', () => {
  assert.equal(taskSupportOf({ execution: { taskSupport: 'required' } }), 'required');
  assert.equal(taskSupportOf({ execution: { taskSupport: 'optional' } }), 'optional');
  for (const tool of [{}, { execution: {} }, { execution: { taskSupport: 'sometimes' } }, undefined])
    assert.equal(taskSupportOf(tool), 'forbidden');
});

test('no server is told that questions may be tasks (K6)', () => {
  const tasks = { requests: { elicitation: { create: {} } } };
  assert.deepEqual(askableCapabilities({ elicitation: {}, tasks }), { elicitation: {} });
});
