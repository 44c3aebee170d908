import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { refuseUnsafePlan } from './check.ts';
import { planMounts } from './mounts.ts';
import type { Mount } from './plan.ts';
import { mountOptions, planOf, runOf } from './testing.ts';

const bind = (source: string, target: string, writable: boolean): Mount => ({
  type: 'bind',
  source,
  target,
  writable,
});
const check = (...mounts: Mount[]) => refuseUnsafePlan(planOf(mounts));
const unsafe = { code: 'UnsafeMount' };

describe('refuseUnsafePlan', () => {
  it('accepts every plan that the driver makes', () => {
    const state = mountOptions.state;
    const runs = [
      runOf(),
      runOf({ code: undefined }),
      runOf({ code: '/home/me/project' }),
      runOf({ codeWritable: true }),
      runOf({ deps: `${state}/deps/d` }),
      runOf(
        {
          deps: `${state}/deps/d.partial/tree`,
          cache: `${state}/deps/d.partial/cache`,
          workspace: undefined,
          shared: undefined,
        },
        'install',
      ),
    ];
    for (const run of runs) refuseUnsafePlan(planOf(planMounts(run, mountOptions)));
  });

  const table: Record<string, Mount[]> = {
    'a bind below a writable bind': [
      bind('/w', '/code', true),
      bind('/deps/node_modules', '/code/node_modules', false),
    ],
    'an empty folder below a writable bind': [
      bind('/w', '/code', true),
      { type: 'tmpfs', target: '/code/.ploinky', sizeBytes: 1, readOnly: true },
    ],
    'a folder below a writable bind': [
      bind('/w', '/workspace', true),
      { type: 'folder', target: '/workspace/x' },
    ],
    'a link below a writable bind': [
      bind('/w', '/workspace', true),
      { type: 'symlink', target: '/workspace/l', to: '/x' },
    ],
    'a bind below /tmp': [
      { type: 'tmpfs', target: '/tmp', sizeBytes: 1, readOnly: false },
      bind('/w', '/tmp/w', false),
    ],
    'a mount before the writable bind around it': [bind('/d', '/code/d', false), bind('/w', '/code', true)],
    'a source below a writable source': [bind('/w', '/workspace', true), bind('/w/inner', '/code', false)],
    'a mount point that is a writable folder under another name': [
      bind('/ws', '/code', false),
      bind('/ws/agents/a', '/workspace', true),
      { type: 'tmpfs', target: '/code/agents/a/x', sizeBytes: 1, readOnly: true },
    ],
    'a mount point that hides a writable folder itself': [
      bind('/ws', '/code', false),
      bind('/ws/.ploinky', '/workspace', true),
      { type: 'tmpfs', target: '/code/.ploinky', sizeBytes: 1, readOnly: true },
    ],
  };
  for (const [name, mounts] of Object.entries(table)) {
    it(`refuses ${name}`, () => assert.throws(() => check(...mounts), unsafe));
  }

  it('takes a name that only begins alike for another folder', () => {
    check(bind('/w', '/code', true), bind('/w2', '/code2', false));
  });

  it('refuses any mount below any writable one, whatever else is there', () => {
    const segment = fc.stringMatching(/^[a-z]{1,3}$/);
    const path = fc.array(segment, { minLength: 1, maxLength: 3 }).map((parts) => `/${parts.join('/')}`);
    const mount = fc
      .record({ source: path, target: path, writable: fc.boolean() })
      .map((m): Mount => ({ type: 'bind', ...m }));
    fc.assert(
      fc.property(
        fc.array(mount, { maxLength: 4 }),
        path,
        segment,
        fc.boolean(),
        (others, target, name, first) => {
          const outer = bind('/outer', target, true);
          const inner = bind('/inner', `${target}/${name}`, false);
          const mounts = first ? [inner, outer, ...others] : [...others, outer, inner];
          assert.throws(() => check(...mounts), unsafe);
        },
      ),
    );
  });
});

describe('planMounts', () => {
  const find = (mounts: readonly Mount[], target: string) => mounts.find((mount) => mount.target === target);

  it('hides .ploinky when the code folder contains it', () => {
    const mounts = planMounts(runOf({ code: '/home/me/project' }), mountOptions);
    assert.deepEqual(find(mounts, '/code/.ploinky'), {
      type: 'tmpfs',
      target: '/code/.ploinky',
      sizeBytes: 4096,
      readOnly: true,
    });
    const deeper = planMounts(runOf({ code: '/home/me' }), mountOptions);
    assert.ok(find(deeper, '/code/project/.ploinky') !== undefined);
  });

  it('refuses writable code that contains .ploinky', () => {
    assert.throws(
      () => planMounts(runOf({ code: '/home/me/project', codeWritable: true }), mountOptions),
      unsafe,
    );
  });

  it('gives the agent exactly its workspace and the shared folder to write', () => {
    const writable = planMounts(runOf({ deps: '/d' }), mountOptions).filter(
      (mount) => mount.type === 'bind' && mount.writable,
    );
    assert.deepEqual(
      writable.map((mount) => mount.target),
      ['/workspace', '/shared'],
    );
  });

  it('gives an install step exactly its own tree and cache to write, and no workspace', () => {
    const run = runOf(
      { deps: '/p/tree', cache: '/p/cache', workspace: undefined, shared: undefined, codeWritable: true },
      'install',
    );
    const writable = planMounts(run, mountOptions).filter((mount) => mount.type === 'bind' && mount.writable);
    assert.deepEqual(
      writable.map((mount) => mount.target),
      ['/deps', '/cache'],
    );
  });

  it('leads /node_modules to what was installed by a link, which cannot leave the sandbox', () => {
    const mounts = planMounts(runOf({ deps: '/d' }), mountOptions);
    assert.deepEqual(find(mounts, '/node_modules'), {
      type: 'symlink',
      target: '/node_modules',
      to: 'deps/node_modules',
    });
  });

  it('binds nothing of the host but what it names', () => {
    const sources = planMounts(runOf(), mountOptions).flatMap((mount) =>
      mount.type === 'bind' ? [mount.source] : [],
    );
    for (const source of sources) {
      assert.doesNotMatch(source, /^\/(home\/me|root|etc|var|run|proc|sys|)$/);
    }
  });
});
