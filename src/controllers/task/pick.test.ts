import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { taskLabel } from '#api/labels.ts';
import { type Choice, pickAgent, type Wanted } from './pick.ts';
import { makeAgent } from './testing.ts';

const idle = { ofAgent: () => 0, ofInstance: () => 0 };
const zfs = makeAgent('zfs', { role: 'ops', capabilities: ['zfs', 'disk'] });
const net = makeAgent('net', { role: 'ops', capabilities: ['net'] });
const busy = makeAgent('a-busy', { role: 'ops', capabilities: ['net'] });
const away = makeAgent('away', { role: 'night' }, false);
const agents = [zfs, net, busy, away];
const load = { ofAgent: (name: string) => (name === 'a-busy' ? 2 : 0), ofInstance: () => 0 };

function told(choice: Choice): string {
  return choice.ok ? choice.agent.metadata.name : `${choice.reason}: ${choice.message}`;
}

describe('Who does a Task', () => {
  const cases: readonly [string, Wanted, string][] = [
    ['the one that is named', { agentRef: { name: 'net' } }, 'net'],
    [
      'nobody, when that is not there',
      { agentRef: { name: 'nope' } },
      'AgentNotFound: Agent "nope" does not exist.',
    ],
    [
      'nobody, when that is not Ready',
      { agentRef: { name: 'away' } },
      'AgentNotReady: Agent "away" is not Ready: It starts.',
    ],
    ['of a role the one with the fewest attempts', { role: 'ops', requiredCapabilities: ['net'] }, 'net'],
    ['of several that have as few the first by name', { role: 'ops' }, 'net'],
    ['an Agent whose name is the role', { role: 'away' }, 'AgentNotFound: No Agent has the role "away".'],
    ['the one with all capabilities', { requiredCapabilities: ['disk', 'zfs'] }, 'zfs'],
    [
      'nobody, and what nobody has is named',
      { requiredCapabilities: ['zfs', 'gpu'] },
      'NoAgentWithCapabilities: No Agent has: gpu.',
    ],
    [
      'nobody, and what the nearest lacks is named',
      { requiredCapabilities: ['zfs', 'disk', 'net'] },
      'NoAgentWithCapabilities: No Agent has all of them; "zfs" comes nearest and lacks: net.',
    ],
    ['nobody, when a role has none', { role: 'day' }, 'AgentNotFound: No Agent has the role "day".'],
  ];
  for (const [name, wanted, expected] of cases) {
    it(name, () => assert.equal(told(pickAgent(wanted, agents, load)), expected));
  }

  it('of an Agent with several instances the one with the fewest attempts', () => {
    const many = makeAgent('many');
    const [first] = many.status?.endpoints ?? [];
    assert.ok(first);
    const endpoints = ['b', 'a', 'c'].map((name) => ({ ...first, name, uid: name }));
    const agent = { ...many, status: { ...many.status, endpoints } };
    const choose = (counts: Record<string, number>) => {
      const choice = pickAgent({ agentRef: { name: 'many' } }, [agent], {
        ...idle,
        ofInstance: (uid) => counts[uid] ?? 0,
      });
      return choice.ok && choice.instance;
    };
    assert.deepEqual([choose({}), choose({ a: 1 }), choose({ a: 1, b: 1 })], ['a', 'b', 'c']);
  });

  it('never an Agent that was made for another Task, nor one that is being deleted', () => {
    const made = { ...net, metadata: { ...net.metadata, labels: { [taskLabel]: 'x' } } };
    const going = { ...zfs, metadata: { ...zfs.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } };
    assert.match(told(pickAgent({ role: 'ops' }, [made, going], idle)), /^AgentNotFound/);
  });
});
