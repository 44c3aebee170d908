import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type LimitsMethod, planLimits } from './limits.ts';

const limits = { pids: 100, memoryBytes: 1_000_000, cpu: 1.5 };

describe('planLimits', () => {
  it('writes one group per controller under cgroup v1', () => {
    const method: LimitsMethod = { type: 'v1', bases: { memory: '/m', pids: '/p', cpu: '/c' } };
    assert.deepEqual(planLimits(method, 'k', limits), {
      type: 'cgroups',
      groups: [
        { path: '/p/k', settings: [['pids.max', '100']] },
        {
          path: '/m/k',
          settings: [
            ['memory.limit_in_bytes', '1000000'],
            ['memory.memsw.limit_in_bytes?', '1000000'],
          ],
        },
        {
          path: '/c/k',
          settings: [
            ['cpu.cfs_period_us', '100000'],
            ['cpu.cfs_quota_us', '150000'],
          ],
        },
      ],
    });
  });
  it('writes one group under cgroup v2', () => {
    assert.deepEqual(planLimits({ type: 'v2', base: '/b' }, 'k', limits), {
      type: 'cgroups',
      groups: [
        {
          path: '/b/k',
          settings: [
            ['pids.max', '100'],
            ['memory.max', '1000000'],
            ['memory.swap.max?', '0'],
            ['cpu.max?', '150000 100000'],
          ],
        },
      ],
    });
  });
  it('asks systemd for a scope where it is the one who may make groups', () => {
    const plan = planLimits(
      { type: 'systemd', file: '/usr/bin/systemd-run', environment: { A: 'b' } },
      'k',
      limits,
    );
    assert.equal(plan.type, 'wrapper');
    assert.deepEqual(plan.type === 'wrapper' && plan.arguments, [
      '--user',
      '--scope',
      '--quiet',
      '--collect',
      '-p',
      'TasksMax=100',
      '-p',
      'MemoryMax=1000000',
      '-p',
      'MemorySwapMax=0',
      '-p',
      'CPUQuota=150%',
      '--',
    ]);
  });
  it('limits processes even when nothing else is asked for', () => {
    const plan = planLimits({ type: 'v1', bases: { memory: '/m', pids: '/p' } }, 'k', { pids: 512 });
    assert.deepEqual(plan, { type: 'cgroups', groups: [{ path: '/p/k', settings: [['pids.max', '512']] }] });
  });
  it('passes on why there are none', () => {
    assert.deepEqual(planLimits({ type: 'none', message: 'why' }, 'k', limits), {
      type: 'none',
      message: 'why',
    });
  });
});
