import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Operation, StoredTask } from './operations.ts';
import { TaskStore } from './store.ts';

const list: Operation = { type: 'list', status: null, owner: null, after: null, limit: 100 };
const now = Date.parse('2026-03-01T00:00:00Z');

function place(t: TestContext): { readonly workspace: string; readonly code: string } {
  const root = mkdtempSync(join(tmpdir(), 'import-'));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  const folders = { workspace: join(root, 'workspace'), code: join(root, 'code') };
  for (const folder of Object.values(folders)) mkdirSync(folder);
  return folders;
}

/** As the reference writes it: see the Ploinky contract, §4. */
const items = ['pending', 'running', 'completed', 'failed'].map((status, index) => ({
  id: `00000000000000a${index}`,
  toolName: 'build',
  commandSpec: { command: '/code/build.sh', env: { SECRET: 'canary-env' } },
  payload: {
    tool: 'build',
    input: { target: index },
    metadata: {
      invocationToken: 'canary-token',
      requestInfo: { headers: { authorization: 'canary-header' } },
    },
    taskId: `00000000000000a${index}`,
  },
  status,
  timeoutMs: index === 0 ? 5000 : null,
  createdAt: '2025-01-01T10:00:00.000Z',
  updatedAt: '2025-01-01T10:05:00.000Z',
  error: status === 'failed' ? 'exit 1' : null,
}));

function opened(t: TestContext, folder: string, imports: readonly string[] = []): TaskStore {
  const store = new TaskStore(folder, now, { imports });
  t.after(() => {
    try {
      store.close();
    } catch {
      // The test closed it.
    }
  });
  return store;
}

function wholes(store: TaskStore): StoredTask[] {
  const listed = store.apply([list])[0] as StoredTask[];
  return store.apply(listed.map(({ id }) => ({ type: 'get', id }))) as StoredTask[];
}

test('a queue file of the reference is moved out of the way of the folder, and its tasks are taken over', (t) => {
  const { workspace } = place(t);
  const folder = join(workspace, '.tasksQueue');
  writeFileSync(folder, JSON.stringify(items));
  const store = opened(t, folder);
  assert.ok(statSync(folder).isDirectory());
  assert.deepEqual(JSON.parse(readFileSync(join(workspace, '.tasksQueue.imported.json'), 'utf8')), items);
  assert.deepEqual(
    wholes(store).map(({ id, tool, status, reason, error, timeoutMs, payload }) => [
      ...[id.slice(-2), tool, status, reason, error, timeoutMs, payload],
    ]),
    [
      ['a0', 'build', 'failed', 'Interrupted', restart, 5000, '{"input":{"target":0}}'],
      ['a1', 'build', 'failed', 'Interrupted', restart, null, '{"input":{"target":1}}'],
      ['a2', 'build', 'completed', null, null, null, '{"input":{"target":2}}'],
      ['a3', 'build', 'failed', 'Failed', 'exit 1', null, '{"input":{"target":3}}'],
    ],
  );
  const [, , completed] = wholes(store);
  assert.deepEqual(
    [completed?.createdAt, completed?.finishedAt, completed?.result],
    [Date.parse('2025-01-01T10:00:00.000Z'), Date.parse('2025-01-01T10:05:00.000Z'), null],
  );
  const path = join(workspace, '.tasksQueue.imported.json');
  assert.deepEqual(store.notes, [{ type: 'imported', path, tasks: 4, interrupted: 2, skipped: 0 }]);
});

const restart = 'Task interrupted before completion (agent restart)';

test('no token of such a file is kept', (t) => {
  const { workspace } = place(t);
  const folder = join(workspace, '.tasksQueue');
  writeFileSync(folder, JSON.stringify(items));
  opened(t, folder).close();
  assert.equal(readFileSync(join(folder, 'tasks.sqlite')).includes('canary'), false);
});

test('a file in the code folder is taken over once, and left where it is', (t) => {
  const { workspace, code } = place(t);
  const folder = join(workspace, '.tasksQueue');
  const file = join(code, '.tasksQueue');
  writeFileSync(file, JSON.stringify(items));
  const first = opened(t, folder, [file]);
  assert.equal(wholes(first).length, 4);
  first.apply([{ type: 'sweep', now: now + 8 * 86_400_000 }]);
  assert.equal(wholes(first).length, 0, 'they are forgotten like others');
  first.close();
  const second = opened(t, folder, [file]);
  assert.deepEqual([wholes(second).length, second.notes, existsSync(file)], [0, [], true]);
});

test('what is no task in such a file is skipped, and one that is no list is told and tried again', (t) => {
  const { workspace } = place(t);
  const folder = join(workspace, '.tasksQueue');
  writeFileSync(folder, JSON.stringify([items[2], null, { id: 7 }, { ...items[1], status: 'odd' }]));
  const path = join(workspace, '.tasksQueue.imported.json');
  const store = opened(t, folder);
  assert.deepEqual(store.notes, [{ type: 'imported', path, tasks: 1, interrupted: 0, skipped: 3 }]);
  store.close();
  const other = place(t);
  const otherFolder = join(other.workspace, '.tasksQueue');
  writeFileSync(otherFolder, '[{"id": "cut o');
  const first = opened(t, otherFolder);
  assert.deepEqual(
    first.notes.map(({ type }) => type),
    ['unreadable'],
  );
  first.close();
  writeFileSync(join(other.workspace, '.tasksQueue.imported.json'), JSON.stringify(items));
  assert.equal(wholes(opened(t, otherFolder)).length, 4);
});
