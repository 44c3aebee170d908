import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { PodDefaults } from '#api/pod-defaults.ts';
import { settings, workloadOf } from '../testing.ts';
import { overlayOf } from './overlay.ts';

const classOf = (wanted: string | undefined, defaults: PodDefaults | undefined) => {
  const spec = wanted === undefined ? {} : { runtimeClassName: wanted };
  const given = defaults === undefined ? settings : { ...settings, defaults };
  const { spec: made } = overlayOf(workloadOf({ podTemplate: { spec } }), given);
  return made.runtimeClassName;
};

describe('the container runtime of an agent’s pod', () => {
  it('is the author’s where the administrator says nothing', () => {
    assert.equal(classOf(undefined, undefined), undefined);
    assert.equal(classOf('kata', undefined), 'kata');
  });

  it('is the administrator’s where one is said, and no author leaves it', () => {
    const defaults = { spec: { runtimeClassName: 'gvisor' } };
    assert.equal(classOf(undefined, defaults), 'gvisor');
    assert.equal(classOf('gvisor', defaults), 'gvisor');
    assert.throws(() => classOf('runc', defaults), {
      code: 'PodTemplate',
      message: /runtimeClassName: "runc" is not one that the administrator allows.*: gvisor\./,
    });
  });

  it('is one of those that the administrator lists, for authors to choose from', () => {
    const defaults = { spec: { runtimeClassName: 'gvisor' }, runtimeClassNames: ['kata'] };
    assert.equal(classOf('kata', defaults), 'kata');
    assert.throws(() => classOf('runc', defaults), /: gvisor, kata\./);
    assert.throws(() => classOf('runc', { runtimeClassNames: [] }), /: none is\./);
  });
});
