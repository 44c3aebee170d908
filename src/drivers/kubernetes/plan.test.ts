import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { PodFacts } from './observe/pod-facts.ts';
import { type Plan, type PlanInput, planOf } from './plan.ts';
import { podFacts } from './testing.ts';

/** `0A+`: slot 0, spec A, ready; `-` not ready; `x` ended; `t` terminating; `c` between two starts. */
function podsOf(text: string): PodFacts[] {
  return text.split(' ').flatMap((word) => {
    const [, slot, specHash = '', state] = /^(\d)([A-Z])([-+xtc])$/.exec(word) ?? [];
    if (slot === undefined) return [];
    return podFacts({
      name: word,
      uid: word,
      slot: Number(slot),
      specHash,
      ready: state === '+',
      terminating: state === 't',
      betweenStarts: state === 'c',
      ...(state === 'x' ? { exit: { code: 1, signal: null, at: 0 } } : {}),
    });
  });
}

function tell(plan: Plan): string {
  const names = (verb: string, pods: readonly PodFacts[]) => pods.map(({ name }) => `${verb} ${name}`);
  return [
    ...plan.create.map(({ slot, stuck }) => ['create', slot, ...stuck].join(' ')),
    ...names('retire', plan.retire),
    ...names('remove', plan.remove),
    ...names('give up', plan.giveUp),
  ].join(', ');
}

type Case = [pods: string, change: Partial<PlanInput>, steps: string];
const volume = { hasVolume: true };

const table: Record<string, Case> = {
  'makes every pod at once': ['', { replicas: 3 }, 'create 0, create 1, create 2'],
  'makes nothing when nothing is to start': ['', { start: false }, ''],
  'leaves what is as wanted': ['0A+ 1A-', { replicas: 2 }, ''],
  'makes the one that is missing': ['0A+ 2A+', { replicas: 3 }, 'create 1'],
  'tells of an end before it does anything': ['0Ax', {}, ''],
  'replaces an ended pod that was told': ['0Ax', { told: new Set(['0Ax']) }, 'create 0, remove 0Ax'],
  'keeps an ended pod for its log while nothing is to start': [
    '0Ax',
    { told: new Set(['0Ax']), start: false },
    '',
  ],
  'does not wait for a pod that ends': ['0At', {}, 'create 0 0At'],
  'waits for a pod that ends and has the volume': ['0At', volume, ''],
  'begins a rollout with one new pod beside the old': ['0B+ 1B+', { replicas: 2 }, 'create 0'],
  'waits for the new pod to be Ready': ['0B+ 0A- 1B+', { replicas: 2 }, ''],
  'goes on when it is: the old one goes, the next one comes': [
    '0B+ 0A+ 1B+',
    { replicas: 2 },
    'create 1, retire 0B+',
  ],
  'ends a rollout with the last old pod': ['0A+ 1B+ 1A+', { replicas: 2 }, 'retire 1B+'],
  'replaces at once what does not serve': [
    '0B- 1B-',
    { replicas: 2 },
    'create 0, create 1, remove 0B-, remove 1B-',
  ],
  'drops an old pod that does not serve beside a new one': ['0B- 0A-', {}, 'remove 0B-'],
  'holds a rollout while nothing is to start': ['0B+ 1B+', { replicas: 2, start: false }, ''],
  'lets the old pod go first when it has the volume': ['0B+ 1B+', { ...volume, replicas: 2 }, 'retire 0B+'],
  'recreates one after the other': ['0A- 1B+', { ...volume, replicas: 2 }, ''],
  'recreates the next when the one before is Ready': ['0A+ 1B+', { ...volume, replicas: 2 }, 'retire 1B+'],
  'does not wait for what does not serve to give up its volume': ['0B-', volume, 'remove 0B-'],
  'scales down from the top': ['0A+ 1A+ 2A+', { replicas: 1 }, 'retire 2A+, retire 1A+'],
  'drops at once what does not serve when it scales down': ['0A+ 1A-', { replicas: 1 }, 'remove 1A-'],
  'gives up what is between two starts': ['0Ac', { start: false }, 'give up 0Ac'],
  'leaves restarts to the kubelet': ['0Ac', {}, ''],
  'lets the first pod find out the commit': ['', { replicas: 3, pinned: false }, 'create 0'],
  'makes no other until it has': ['0A-', { replicas: 3, pinned: false }, ''],
  'rolls over to a newer agent-server as to another spec': [
    '0A+ 1A+',
    { replicas: 2, replace: new Set(['1A+']) },
    'create 1',
  ],
  'lets a pod with an older agent-server go first when it has the volume': [
    '0A+',
    { ...volume, replace: new Set(['0A+']) },
    'retire 0A+',
  ],
  'ends all when there are to be none': ['0A+ 1Ax', { replicas: 0 }, 'retire 0A+, remove 1Ax'],
};

describe('the next steps for the pods of a workload', () => {
  for (const [name, [pods, change, steps]] of Object.entries(table)) {
    it(name, () => {
      const input = { replicas: 1, specHash: 'A', hasVolume: false, start: true, pinned: true };
      const sets = { told: new Set<string>(), replace: new Set<string>() };
      assert.equal(tell(planOf({ ...input, ...sets, pods: podsOf(pods), ...change })), steps);
    });
  }
});
