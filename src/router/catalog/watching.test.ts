import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Log } from '#kit/log.ts';
import { silentLog } from '#kit/log.ts';
import { decodeConflicts } from '#routing/name-conflicts.ts';
import { buildRoutingTable } from '#routing/table.ts';
import { targetOf } from '#routing/target.ts';
import { agentNamed, routeNamed } from '#routing/testing.ts';
import { createConflicts } from './conflicts.ts';
import type { Item } from './list-kinds.ts';
import { mergeParts } from './merge-parts.ts';
import { createToolWatch } from './tool-watch.ts';

function recordingLog() {
  const lines: [string, Record<string, unknown>][] = [];
  const log: Log = { ...silentLog, warn: (message, fields = {}) => void lines.push([message, fields]) };
  return { lines, log };
}

function tableWith(naming: 'Conflict' | 'Always' | 'Never') {
  return buildRoutingTable({
    agents: [agentNamed('a'), agentNamed('b')],
    routes: [routeNamed('team', { selector: {}, paths: ['/team'], mcp: { naming } })],
    homeNamespace: 'default',
    hostClaims: {},
  });
}

function look(
  conflicts: ReturnType<typeof createConflicts>,
  naming: 'Conflict' | 'Always' | 'Never',
  names: string[],
) {
  const [surface] = tableWith(naming).surfaces;
  assert.ok(surface?.kind === 'mcp');
  const parts = ['a', 'b'].map((agent) => ({ agent, items: names.map((name) => ({ name })) }));
  conflicts.look(surface, 'tools', mergeParts(parts, surface, 'tools'));
}

test('names that several agents have are logged once, said, and forgotten with their Route', () => {
  const { lines, log } = recordingLog();
  const conflicts = createConflicts({ log });
  let told = 0;
  conflicts.subscribe(() => {
    told += 1;
  });
  look(conflicts, 'Never', ['echo']);
  look(conflicts, 'Never', ['echo']);
  assert.deepEqual([lines.length, told], [1, 1]);
  assert.deepEqual(decodeConflicts(conflicts.text).get('default/team'), [
    { kind: 'tools', name: 'echo', agents: ['a', 'b'] },
  ]);
  conflicts.retain(tableWith('Never'));
  assert.notEqual(conflicts.text, '');
  conflicts.retain({ ...tableWith('Never'), surfaces: [] });
  assert.deepEqual([conflicts.text, told], ['', 2]);
});

test('where every name has its agent in front nothing clashes', () => {
  const { lines, log } = recordingLog();
  const conflicts = createConflicts({ log });
  look(conflicts, 'Always', ['echo']);
  assert.deepEqual([conflicts.text, lines.length], ['', 0]);
});

test('tools that change, and text that people do not see, are logged once', () => {
  const { lines, log } = recordingLog();
  const watch = createToolWatch(log);
  const target = targetOf(agentNamed('a'));
  const add = { name: 'add', description: 'adds' };
  let before: Item[] | undefined;
  for (const description of ['adds', 'adds', 'sends', 'sends']) {
    const items = [{ ...add, description }];
    watch.look(target, 'tools', { items, before });
    before = items;
  }
  assert.deepEqual(
    lines.map(([message, fields]) => [message, fields['tools']]),
    [['tools of an agent are not what they were', 'add']],
  );
  for (const _ of [1, 2])
    watch.look(target, 'prompts', { items: [{ name: 'p', description: 'a\u202Eb' }], before: undefined });
  assert.deepEqual(lines.at(-1), [
    'an agent lists text that people do not see',
    { agent: 'a', kind: 'prompts', items: 'p' },
  ]);
  assert.equal(lines.length, 2);
});
