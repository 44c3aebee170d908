import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Agent, agentSpecSchema } from '#api/agent.ts';
import { showAgentProgress } from './agent-progress.ts';
import { type AgentSummary, headlineOf, summarizeAgent } from './agent-summary.ts';
import { createTerminal } from './terminal.ts';

type Told = [type: string, status: 'True' | 'False', reason: string, generation?: number];
function agentWith(conditions: Told[], spec: object = {}): Agent {
  return {
    apiVersion: 'ploinky.dev/v1alpha1',
    kind: 'Agent',
    metadata: { name: 'a', generation: 2 },
    spec: agentSpecSchema.parse(spec),
    status: {
      conditions: conditions.map(([type, status, reason, observedGeneration = 2]) => ({
        type,
        status,
        reason,
        observedGeneration,
        message: `${reason}!`,
        lastTransitionTime: '2026-01-01T00:00:00Z',
      })),
    },
  };
}

const cases: [string, Told[], object, AgentSummary['stage'], string][] = [
  ['no condition yet', [], {}, 'Working', 'Pending'],
  ['ready', [['Ready', 'True', 'Ready']], {}, 'Ready', 'Ready'],
  ['ready for an older spec', [['Ready', 'True', 'Ready', 1]], {}, 'Working', 'Pending'],
  [
    'not accepted',
    [
      ['Accepted', 'False', 'NotImplemented'],
      ['Ready', 'True', 'Ready'],
    ],
    {},
    'Failed',
    'NotImplemented',
  ],
  [
    'halted',
    [
      ['Halted', 'True', 'CrashLoop'],
      ['Ready', 'False', 'CrashLoop'],
    ],
    {},
    'Failed',
    'CrashLoop',
  ],
  [
    'waiting for a person',
    [
      ['Ready', 'False', 'SecretMissing'],
      ['Progressing', 'False', 'SecretMissing'],
      ['Degraded', 'True', 'SecretMissing'],
    ],
    {},
    'Failed',
    'SecretMissing',
  ],
  [
    'backing off, which time may mend',
    [
      ['Ready', 'False', 'BackOff'],
      ['Progressing', 'True', 'BackOff'],
      ['Degraded', 'True', 'BackOff'],
    ],
    {},
    'Working',
    'BackOff',
  ],
  [
    'installing',
    [
      ['Ready', 'False', 'Installing'],
      ['Progressing', 'True', 'Installing'],
    ],
    {},
    'Working',
    'Installing',
  ],
  [
    'degraded',
    [
      ['Progressing', 'True', 'Starting'],
      ['Degraded', 'True', 'InstallFailed'],
    ],
    {},
    'Working',
    'InstallFailed',
  ],
  [
    'starting without limits',
    [
      ['Progressing', 'True', 'Starting'],
      ['Degraded', 'True', 'LimitsNotEnforced'],
    ],
    {},
    'Working',
    'Starting',
  ],
  ['suspended', [['Ready', 'False', 'Suspended']], { runtime: { suspend: true } }, 'Stopped', 'Suspended'],
];
for (const [name, conditions, spec, stage, reason] of cases) {
  test(`an agent that is ${name} is ${stage} with ${reason}`, () => {
    const summary = summarizeAgent(agentWith(conditions, spec));
    assert.deepEqual([summary.stage, summary.reason], [stage, reason]);
  });
}

test('an agent that is Ready without limits carries the warning', () => {
  const agent = agentWith([
    ['Ready', 'True', 'Ready'],
    ['Degraded', 'True', 'LimitsNotEnforced'],
  ]);
  assert.equal(summarizeAgent(agent).warning, 'LimitsNotEnforced!');
});

const working: AgentSummary = { stage: 'Working', reason: 'Starting', message: '' };
const ready: AgentSummary = { stage: 'Ready', reason: 'Ready', message: '' };

test('without a terminal each change of an agent is one line, and nothing is repeated', () => {
  let notes = '';
  const terminal = createTerminal({ write: () => true }, { write: (text) => (notes += text) }, {});
  const progress = showAgentProgress(terminal, 0);
  progress.update([{ name: 'a', summary: working, toolCount: undefined }], 100);
  progress.update([{ name: 'a', summary: working, toolCount: undefined }], 200);
  progress.update([{ name: 'a', summary: ready, toolCount: 2 }], 1500);
  assert.equal(notes, '… a  Starting\n✓ a  Ready · 2 tools · after 1.5 s\n');
});

test('on a terminal the block is redrawn in place and no line is wider than the screen', () => {
  let notes = '';
  const stream = { isTTY: true, columns: 40, write: (text: string) => (notes += text) };
  const terminal = createTerminal(stream, stream, { NO_COLOR: '1' });
  const progress = showAgentProgress(terminal, 0);
  const long = { ...working, message: 'x'.repeat(100) };
  progress.update([{ name: 'a', summary: long, toolCount: undefined }], 0);
  progress.update([{ name: 'a', summary: ready, toolCount: 1 }], 1000);
  assert.ok(notes.includes('\u001b[1A\u001b[J✓ a  Ready · 1 tool · after 1.0 s\n'), JSON.stringify(notes));
  assert.ok(
    notes.split('\n').every((line) => [...line].length <= 47),
    notes,
  );
});

test('a line of a table ends before the log that would follow', () => {
  const message = 'Container agent ended with exit code 3. The end of its log:\none\ntwo';
  assert.equal(headlineOf(message), 'Container agent ended with exit code 3.');
  assert.equal(headlineOf('one line'), 'one line');
});
