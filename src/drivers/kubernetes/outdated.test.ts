import assert from 'node:assert/strict';
import { it } from 'node:test';
import { outdatedToReplace } from './outdated.ts';
import { planOf } from './plan.ts';
import { podFacts } from './testing.ts';

const image = 'agent:2';
const older = podFacts({ uid: 'older', serverImage: 'agent:1' });
const newer = podFacts({ uid: 'newer', serverImage: image, createdAt: older.createdAt + 60_000 });
const nothing = { image, allowed: [], start: true };

it('a pod with an older agent-server goes when it may, or when it never ran; the newest stays', () => {
  assert.deepEqual(outdatedToReplace([older], nothing), []);
  assert.deepEqual(outdatedToReplace([older], { ...nothing, allowed: ['older'] }), ['older']);
  assert.deepEqual(outdatedToReplace([{ ...older, hasRun: false }], nothing), ['older']);
  assert.deepEqual(outdatedToReplace([{ ...older, hasRun: false }], { ...nothing, start: false }), []);
  assert.deepEqual(outdatedToReplace([newer], { ...nothing, allowed: ['newer'] }), []);
});

it('a controller that starts in the middle of a change goes on with it', () => {
  for (const start of [true, false]) {
    const pods = [older, newer];
    const replace = new Set(outdatedToReplace(pods, { ...nothing, start }));
    const told = new Set<string>();
    const plan = planOf({
      replicas: 1,
      specHash: 'A',
      hasVolume: false,
      start,
      pinned: true,
      pods,
      told,
      replace,
    });
    assert.deepEqual(
      { ...plan, retire: plan.retire.map(({ uid }) => uid) },
      { create: [], retire: ['older'], remove: [], giveUp: [] },
    );
  }
  const elsewhere = { ...newer, slot: 1 };
  assert.deepEqual(outdatedToReplace([older, elsewhere], nothing), [], 'another slot’s is no successor');
  assert.deepEqual(outdatedToReplace([older, { ...newer, terminating: true }], nothing), []);
});
