import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { bwrapAvailability } from '#test/fixtures/driver-host.ts';
import { groups } from './groups/groups.ts';
import { type Harness, openHarness } from './harness.ts';
import { python } from './probe.ts';
import { isWithoutControl, type Row, runGroups } from './run.ts';
import { missingPeer } from './substrates/peer.ts';

const availability = await bwrapAvailability();
const skip = !availability.ok
  ? availability.reason
  : process.getuid?.() !== 0
    ? 'the controls need root: without it, the system stops most attacks by itself'
    : !existsSync(python) && 'python3 is not installed';

/** What even a machine without any defence may stop: there is nothing of the kind in its kernel. */
const mayBeAbsent = [
  ...['kernel crypto socket', 'kexec_load', 'kexec_file_load', 'init_module', 'vsock to the hypervisor'],
  ...['read it by /proc/1/root', 'netlink: audit', 'netlink: interfaces of the host', 'TIOCSTI', 'syslog'],
  ...["write a cgroup's release_agent", "TCP to the host's ::1", 'read /dev/kmsg', 'make a device file'],
];

describe('attacks from inside, with none, another and our sandbox', { skip, timeout: 120_000 }, () => {
  let harness: Harness;
  let rows: Row[];
  const absent = missingPeer();
  before(async () => {
    harness = await openHarness();
    rows = await runGroups(harness, groups, absent === undefined);
  });
  after(() => harness?.close());

  it('none of them works in ours', () => {
    assert.ok(rows.length >= 70, `only ${rows.length}`);
    const working = rows.filter(({ ours }) => ours.verdict !== 'stopped');
    assert.deepEqual(
      working.map(({ name, ours }) => `${name}: ${ours.detail}`),
      [],
    );
  });

  it('each works without a sandbox, or this kernel has nothing of the kind', (context) => {
    const without = rows.filter(isWithoutControl).map(({ name }) => name);
    context.diagnostic(`no control on this machine: ${without.join(', ')}`);
    assert.deepEqual(
      without.filter((name) => !mayBeAbsent.includes(name)),
      [],
    );
  });

  it('nothing is stopped by the other sandbox alone', { skip: absent ?? false }, () => {
    const better = rows.filter(({ ours, peer }) => peer?.verdict === 'stopped' && ours.verdict !== 'stopped');
    assert.deepEqual(
      better.map(({ name }) => name),
      [],
    );
    assert.ok(rows.every(({ peer }) => peer !== undefined && peer.verdict !== 'absent'));
  });
});
