import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AgentStatus } from '#api/agent.ts';
import { makeReport } from './testing.ts';
import { lookAtTools, type ToolSight } from './tool-changes.ts';

function status(observedGeneration: number, settled = true): AgentStatus {
  const condition = {
    type: 'Progressing',
    status: settled ? ('False' as const) : ('True' as const),
    reason: settled ? 'Ready' : 'Updating',
    message: '',
    lastTransitionTime: '2026-01-01T00:00:00Z',
  };
  return { observedGeneration, conditions: [condition] };
}

/** Looks at one state after the other; gives the reasons that were told each time. */
function look(...steps: [AgentStatus, Record<string, string>, string[]?][]): string[][] {
  let sight: ToolSight | undefined;
  return steps.map(([now, tools, hidden = []]) => {
    const looked = lookAtTools(sight, now, [makeReport({ ready: true, tools, hidden })]);
    sight = looked.sight;
    return looked.notices.map(({ reason }) => reason);
  });
}

test('a tool that changes without its spec is told once', () => {
  const told = look(
    [status(1), { add: 'x', echo: 'y' }],
    [status(1), { add: 'z', echo: 'y' }],
    [status(1), { add: 'z' }],
  );
  assert.deepEqual(told, [[], ['ToolChanged'], []]);
});

test('tools of a new spec are looked at anew, also while it is being rolled out', () => {
  const told = look(
    [status(1), { add: 'x' }],
    [status(2, false), { add: 'x' }],
    [status(2, false), { add: 'y' }],
    [status(2), { add: 'y' }],
    [status(2), { add: 'z' }],
  );
  assert.deepEqual(told, [[], [], [], [], ['ToolChanged']]);
});

test('hidden text is told at first sight and when it is in other tools', () => {
  const told = look(
    [status(1), { add: 'x' }, ['add']],
    [status(1), { add: 'x' }, ['add']],
    [status(1), { add: 'x', b: 'y' }, ['add', 'b']],
  );
  assert.deepEqual(told, [['HiddenText'], [], ['HiddenText']]);
});

test('an agent-server that says nothing of its tools is not judged', () => {
  const { sight, notices } = lookAtTools(undefined, status(1), [makeReport({ ready: true })]);
  assert.deepEqual([sight, notices], [undefined, []]);
});
