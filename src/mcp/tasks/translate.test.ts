import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RpcError } from '../jsonrpc.ts';
import { begunTask, renameInMessage, renameInParams, renameInResult, withoutRelatedTask } from './rename.ts';
import {
  askingForStateless,
  begunForStateless,
  endedForStateless,
  errorOfTask,
  fieldsForStateless,
  isOver,
  statusOf,
} from './translate.ts';

// The specifications' own examples: of tasks in 2025-11-25, and of the extension in 2026-07-28.

const taskId = '786512e2-9e0d-44bd-8f29-789f320fe840';
const related = { 'io.modelcontextprotocol/related-task': { taskId } };
const task2025 = {
  taskId,
  status: 'working',
  statusMessage: 'The operation is now in progress.',
  createdAt: '2025-11-25T10:30:00Z',
  lastUpdatedAt: '2025-11-25T10:40:00Z',
  ttl: 60_000,
  pollInterval: 5000,
};
const task2026 = {
  taskId,
  status: 'working',
  statusMessage: 'The operation is now in progress.',
  createdAt: '2025-11-25T10:30:00Z',
  lastUpdatedAt: '2025-11-25T10:40:00Z',
  ttlMs: 60_000,
  pollIntervalMs: 5000,
};
const weather = {
  content: [{ type: 'text', text: 'Current weather in New York:\nTemperature: 72°F' }],
  isError: false,
};

test('a task that begins in 2025 begins in 2026, with the same members under their new names (K7)', () => {
  assert.deepEqual(begunForStateless({ task: task2025 }), { ...task2026, resultType: 'task' });
  assert.deepEqual(fieldsForStateless(task2025), task2026);
  assert.equal(fieldsForStateless({ ...task2025, ttl: null }).ttlMs, null);
  assert.equal('pollIntervalMs' in fieldsForStateless({ ...task2025, pollInterval: undefined }), false);
});

test('what tasks/result says is the result of a completed task, without its own id in it (K7)', () => {
  const ended = endedForStateless({ ...task2025, status: 'completed' }, { ...weather, _meta: related });
  assert.deepEqual(ended, { ...task2026, status: 'completed', result: weather });
});

test('a tool that failed has completed in 2026; only an error of JSON-RPC is a failure (K7)', () => {
  const failed = {
    ...task2025,
    status: 'failed',
    statusMessage: 'Tool execution failed: API rate limit exceeded',
  };
  const said = {
    content: [{ type: 'text', text: 'Failed to process request: invalid input' }],
    isError: true,
  };
  assert.deepEqual(endedForStateless(failed, said)['status'], 'completed');
  assert.deepEqual(endedForStateless(failed, said)['result'], said);
  const error = new RpcError(-32_603, 'API rate limit exceeded');
  assert.deepEqual(endedForStateless(failed, error), {
    ...task2026,
    status: 'failed',
    statusMessage: 'Tool execution failed: API rate limit exceeded',
    error: { code: -32_603, message: 'API rate limit exceeded' },
  });
});

test('a task that asks says what (K7)', () => {
  const name = {
    method: 'elicitation/create',
    params: {
      mode: 'form',
      message: 'Please enter your name.',
      requestedSchema: { type: 'object', properties: {} },
    },
  };
  assert.deepEqual(askingForStateless({ ...task2025, status: 'input_required' }, { name }), {
    ...task2026,
    status: 'input_required',
    inputRequests: { name },
  });
});

test('the error of a task of 2026 is that of the call (R13)', () => {
  const error = errorOfTask({ ...task2026, error: { code: -32_000, message: 'no', data: { why: 1 } } });
  assert.deepEqual([error.code, error.message, error.data], [-32_000, 'no', { why: 1 }]);
  assert.equal(errorOfTask({ statusMessage: 'too late' }).message, 'too late');
  assert.equal(errorOfTask({}).code, -32_603);
});

test('a status that no revision has is none', () => {
  assert.equal(statusOf({ status: 'sleeping' }), undefined);
  assert.deepEqual(
    ['working', 'input_required', 'completed', 'failed', 'cancelled'].map((status) =>
      isOver(statusOf({ status })),
    ),
    [false, false, true, true, true],
  );
});

const rename = (id: string) => `demo/${id}`;

test('a task is renamed wherever a result names it, in either era (K1, K9)', () => {
  assert.deepEqual(renameInResult({ ...task2026, resultType: 'task' }, rename)['taskId'], `demo/${taskId}`);
  assert.deepEqual(renameInResult({ task: task2025 }, rename), {
    task: { ...task2025, taskId: `demo/${taskId}` },
  });
  assert.deepEqual(renameInResult({ tasks: [task2025], nextCursor: 'next' }, rename), {
    tasks: [{ ...task2025, taskId: `demo/${taskId}` }],
    nextCursor: 'next',
  });
  assert.deepEqual(renameInResult({ ...weather, _meta: related }, rename)['_meta'], {
    'io.modelcontextprotocol/related-task': { taskId: `demo/${taskId}` },
  });
});

test('so it is in questions and notifications of a task (K5, K9)', () => {
  const question = { message: 'Which color?', _meta: related };
  assert.deepEqual(renameInParams(question, rename)['_meta'], {
    'io.modelcontextprotocol/related-task': { taskId: `demo/${taskId}` },
  });
  const told = { jsonrpc: '2.0', method: 'notifications/tasks/status', params: task2025 };
  assert.deepEqual(renameInMessage(told, '', rename)['params'], { ...task2025, taskId: `demo/${taskId}` });
});

test('what names no task stays the same object, also a result of a tool that speaks of some task', () => {
  for (const result of [
    weather,
    { ...weather, taskId: 'mine' },
    { ...weather, structuredContent: { taskId } },
  ]) {
    const message = { jsonrpc: '2.0', id: 1, result };
    assert.equal(renameInMessage(message, 'tools/call', rename), message);
  }
  assert.equal(renameInResult(weather, rename), weather);
  assert.equal(withoutRelatedTask(weather), weather);
  for (const none of [{ task: 'laundry' }, { task: {} }, { resultType: 'task' }])
    assert.equal(begunTask({ ...weather, ...none }), undefined);
});
