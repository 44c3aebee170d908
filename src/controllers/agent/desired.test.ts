import assert from 'node:assert/strict';
import { test } from 'node:test';
import { restartAnnotation } from '#api/labels.ts';
import type { Workload } from '#drivers/workload.ts';
import { desired } from './desired.ts';
import type { AgentFacts } from './facts.ts';
import { makeAgent, makeFacts } from './testing.ts';

const host = { codeRoot: '/ws' };

function of(spec: object, metadata: object = {}, facts: Partial<AgentFacts> = {}): Workload {
  return desired(makeFacts({ agent: makeAgent(spec, metadata), ...facts }), host);
}

const plain = of({ mcp: { tools: [] } });

const changes: Record<string, { workload: Workload; restarts: boolean }> = {
  'another tool': { workload: of({ mcp: { tools: [{ name: 't', command: 'true' }] } }), restarts: true },
  'another egress rule': {
    workload: of({ mcp: { tools: [] }, network: { egress: [{ host: 'a.example' }] } }),
    restarts: false,
  },
  'another dependency': {
    workload: of({ mcp: { tools: [] }, dependsOn: [{ name: 'db' }] }),
    restarts: false,
  },
  'suspending it': { workload: of({ mcp: { tools: [] }, runtime: { suspend: true } }), restarts: false },
  'the restart annotation': {
    workload: of({ mcp: { tools: [] } }, { annotations: { [restartAnnotation]: 'now' } }),
    restarts: true,
  },
  'another revision of a referenced value': {
    workload: of(
      { mcp: { tools: [] } },
      {},
      { environment: { values: {}, missing: [], secrets: [], revision: 'r1' } },
    ),
    restarts: true,
  },
  'another master key': {
    workload: of({ mcp: { tools: [] } }, {}, { masterKeys: [{ kid: 'k1', secret: Buffer.alloc(32, 8) }] }),
    restarts: true,
  },
};

for (const [change, { workload, restarts }] of Object.entries(changes)) {
  test(`${change} ${restarts ? 'needs a' : 'needs no'} new sandbox`, () => {
    assert.equal(workload.specHash !== plain.specHash, restarts);
  });
}

test('agents share an install only when command and code are the same', () => {
  const install = (code: object, command = ['npm', 'install', 'x']) =>
    of({ code, lifecycle: { install: command } }).install?.digest;
  const one = install({ path: 'agents/one' });
  assert.equal(one, install({ path: 'agents/one' }));
  assert.notEqual(one, install({ path: 'agents/two' }));
  assert.notEqual(one, install({ path: 'agents/one' }, ['npm', 'install', 'y']));
  assert.notEqual(
    install({ inline: { 'package.json': '{}' } }),
    install({ inline: { 'package.json': '[]' } }),
  );
});

test('code from git is fetched with the credential of the install step, also without one', () => {
  const code = { git: { url: 'https://git.example.org/a.git' } };
  const { fetchToken, install } = of({ code });
  assert.equal(install, undefined);
  assert.equal(fetchToken, of({ lifecycle: { install: ['true'] } }).install?.egressToken);
  assert.equal(of({ code: { inline: { a: 'b' } } }).fetchToken, undefined);
});

test('the install step has a credential of its own', () => {
  const workload = of({ lifecycle: { install: ['true'] } });
  assert.notEqual(workload.install?.egressToken, workload.egressToken);
});
