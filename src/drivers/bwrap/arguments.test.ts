import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { renderBwrapArguments } from './arguments.ts';
import { planMounts } from './mounts.ts';
import { mountOptions, planOf, runOf } from './testing.ts';

const descriptors = { seccomp: 4, info: 5 };

function render(change: Parameters<typeof planOf>[1] = {}) {
  const plan = planOf(planMounts(runOf(), mountOptions), change);
  const { options, command } = renderBwrapArguments(plan, descriptors);
  return { text: options.join(' '), options, command };
}

describe('renderBwrapArguments', () => {
  it('separates every namespace, the network too', () => {
    const { options } = render();
    for (const name of ['user', 'ipc', 'pid', 'net', 'uts', 'cgroup'])
      assert.ok(options.includes(`--unshare-${name}`), name);
    assert.ok(options.includes('--disable-userns'));
    assert.ok(!options.includes('--share-net'));
  });

  it('ties the sandbox to its parent and gives it a terminal session of its own', () => {
    const { options } = render();
    assert.ok(options.includes('--die-with-parent'));
    assert.ok(options.includes('--new-session'));
  });

  it('clears the environment, drops every capability and filters system calls', () => {
    const { text } = render();
    assert.match(text, /--clearenv --setenv PATH \/usr\/bin/);
    assert.match(text, /--cap-drop ALL --seccomp 4/);
  });

  it('makes the root folder read-only after everything is mounted', () => {
    const { options } = render();
    const last = Math.max(
      ...['--ro-bind', '--bind', '--tmpfs', '--dir', '--symlink'].map((name) => options.lastIndexOf(name)),
    );
    const root = options.findIndex(
      (option, index) => option === '--remount-ro' && options[index + 1] === '/',
    );
    assert.ok(root > last);
  });

  it('as root gives up everything for another user before the command starts', () => {
    const { options, command, text } = render({
      user: { mode: 'switch', uid: 1_900_000_001, gid: 1_900_000_001, setpriv: '/usr/bin/setpriv' },
    });
    assert.ok(!options.includes('--unshare-user'));
    assert.match(text, /--cap-drop ALL --cap-add CAP_SETUID --cap-add CAP_SETGID --cap-add CAP_SETPCAP/);
    assert.deepEqual(command.slice(0, 10), [
      '/usr/bin/setpriv',
      '--reuid',
      '1900000001',
      '--regid',
      '1900000001',
      '--clear-groups',
      '--inh-caps=-all',
      '--bounding-set=-all',
      '--no-new-privs',
      '--',
    ]);
  });

  it('passes the command through as it is', () => {
    assert.deepEqual(render().command, ['/Agent/bin/node', '/Agent/agent-server.mjs']);
  });
});
