import { refuseUnsafePlan } from './check.ts';
import type { BwrapDescriptors, Mount, SandboxPlan, SandboxUser } from './plan.ts';

/**
 * The options of bwrap for a plan, for its `--args` descriptor, and the command after `--`.
 * Throws a TerminalError `UnsafeMount` for a plan that places anything below a path the agent can write.
 */
export function renderBwrapArguments(
  plan: SandboxPlan,
  descriptors: Pick<BwrapDescriptors, 'seccomp' | 'info'>,
): { readonly options: readonly string[]; readonly command: readonly string[] } {
  refuseUnsafePlan(plan);
  const options = [
    ...renderNamespaces(plan),
    ...['--die-with-parent', '--new-session'],
    ...plan.mounts.flatMap(renderMount),
    ...['--remount-ro', '/'],
    ...[
      '--clearenv',
      ...Object.entries(plan.environment).flatMap(([name, value]) => ['--setenv', name, value]),
    ],
    ...['--chdir', plan.cwd],
    ...renderCapabilities(plan.user),
    ...['--seccomp', String(descriptors.seccomp), '--info-fd', String(descriptors.info)],
  ];
  return { options, command: [...renderUserSwitch(plan.user), ...plan.command] };
}

function renderNamespaces(plan: SandboxPlan): string[] {
  const { user } = plan;
  const namespaces = ['ipc', 'pid', 'net', 'uts', 'cgroup'].map((name) => `--unshare-${name}`);
  if (user.mode === 'namespace') {
    namespaces.unshift('--unshare-user', '--disable-userns', '--uid', `${user.uid}`, '--gid', `${user.gid}`);
  }
  return [...namespaces, '--hostname', plan.hostname];
}

function renderMount(mount: Mount): string[] {
  switch (mount.type) {
    case 'bind':
      return [bindOption(mount), mount.source, mount.target];
    case 'tmpfs':
      return renderTmpfs(mount);
    case 'symlink':
      return ['--symlink', mount.to, mount.target];
    case 'folder':
      return ['--dir', mount.target];
    case 'proc':
      return ['--proc', mount.target];
    case 'devices':
      return [
        '--dev',
        mount.target,
        '--perms',
        '1777',
        '--size',
        '67108864',
        '--tmpfs',
        `${mount.target}/shm`,
      ].concat(['--remount-ro', mount.target]);
  }
}

function bindOption(mount: Extract<Mount, { type: 'bind' }>): string {
  const option = mount.writable ? '--bind' : '--ro-bind';
  return mount.optional === true ? `${option}-try` : option;
}

function renderTmpfs(mount: Extract<Mount, { type: 'tmpfs' }>): string[] {
  const perms = mount.readOnly ? '0555' : '1777';
  const made = ['--perms', perms, '--size', String(mount.sizeBytes), '--tmpfs', mount.target];
  return mount.readOnly ? [...made, '--remount-ro', mount.target] : made;
}

/** Root keeps, until `setpriv`, only what changing the user needs. */
function renderCapabilities(user: SandboxUser): string[] {
  const kept = user.mode === 'switch' ? ['CAP_SETUID', 'CAP_SETGID', 'CAP_SETPCAP'] : [];
  return ['--cap-drop', 'ALL', ...kept.flatMap((name) => ['--cap-add', name])];
}

function renderUserSwitch(user: SandboxUser): string[] {
  if (user.mode === 'namespace') return [];
  const ids = ['--reuid', String(user.uid), '--regid', String(user.gid), '--clear-groups'];
  return [user.setpriv, ...ids, '--inh-caps=-all', '--bounding-set=-all', '--no-new-privs', '--'];
}
