import { join } from 'node:path';
import { driverError } from '../errors.ts';
import type { SandboxRun } from '../host/sandbox.ts';
import type { SystemLayout } from './available.ts';
import { isBelow } from './check.ts';
import type { Mount } from './plan.ts';

const mebibyte = 1024 * 1024;
/** Files in /tmp count against the memory limit; this bounds them where there is none. */
const temporaryBytes = 1024 * mebibyte;

/** Host files that programs need and that hold nothing private. Absent ones are left out. */
const sharedFiles = [
  '/etc/ssl/certs',
  '/etc/ssl/openssl.cnf',
  '/etc/pki/tls/certs',
  '/etc/pki/ca-trust/extracted',
  '/etc/crypto-policies',
  '/etc/ca-certificates',
  '/etc/alternatives',
  '/etc/ld.so.cache',
  '/etc/ld.so.conf',
  '/etc/ld.so.conf.d',
  '/etc/localtime',
  '/etc/mime.types',
  '/etc/protocols',
  '/etc/services',
];

/** Parents of mount points, made first: those that bwrap makes by itself only root can enter. */
const parents = [
  '/Agent',
  '/Agent/bin',
  '/Agent/lib',
  '/etc',
  '/etc/ssl',
  '/etc/pki',
  '/etc/pki/tls',
  '/etc/pki/ca-trust',
  '/run',
  '/var',
];

export interface MountOptions {
  readonly host: { readonly system: SystemLayout };
  readonly state: string;
  readonly node: string;
  readonly agentFiles: Readonly<Record<string, string>>;
  readonly npm: string | undefined;
}

/** Everything that exists inside the sandbox of `run`, in mount order. Pure. */
export function planMounts(run: SandboxRun, options: MountOptions): Mount[] {
  return [
    ...parents.map((target): Mount => ({ type: 'folder', target })),
    ...systemMounts(options.host.system),
    { type: 'proc', target: '/proc' },
    { type: 'devices', target: '/dev' },
    { type: 'tmpfs', target: '/tmp', sizeBytes: temporaryBytes, readOnly: false },
    { type: 'symlink', target: '/var/tmp', to: '../tmp' },
    ...ownFiles(run),
    ...agentMounts(options),
    ...codeMounts(run, options.state),
    ...dataMounts(run),
    readOnlyBind(run.folders.sockets, '/run/ploinky'),
  ];
}

function systemMounts(system: SystemLayout): Mount[] {
  return [
    ...system.folders.map((path) => readOnlyBind(path, path)),
    ...system.links.map(([target, to]): Mount => ({ type: 'symlink', target, to })),
    ...sharedFiles.map(
      (path): Mount => ({ type: 'bind', source: path, target: path, writable: false, optional: true }),
    ),
  ];
}

/** The driver's own /etc/passwd and the like: the host's name its users. */
function ownFiles(run: SandboxRun): Mount[] {
  return etcNames.map((name) => readOnlyBind(join(run.folders.files, name), `/etc/${name}`));
}

const etcNames = ['passwd', 'group', 'hosts', 'nsswitch.conf', 'resolv.conf'] as const;

function agentMounts(options: MountOptions): Mount[] {
  const files = Object.entries(options.agentFiles).map(([name, source]) =>
    readOnlyBind(source, `/Agent/${name}`),
  );
  const mounts = [readOnlyBind(options.node, '/Agent/bin/node'), ...files];
  if (options.npm === undefined) return mounts;
  return [
    ...mounts,
    readOnlyBind(options.npm, '/Agent/lib/npm'),
    { type: 'symlink', target: '/Agent/bin/npm', to: '../lib/npm/bin/npm-cli.js' },
    { type: 'symlink', target: '/Agent/bin/npx', to: '../lib/npm/bin/npx-cli.js' },
  ];
}

function codeMounts(run: SandboxRun, state: string): Mount[] {
  const { code, codeWritable } = run.folders;
  if (code === undefined) return [{ type: 'folder', target: '/code' }];
  // An install step only ever reads the code.
  const writable = codeWritable && run.kind === 'agent';
  const bind: Mount = { type: 'bind', source: code, target: '/code', writable };
  if (!isBelow(state, code)) return [bind];
  if (writable) {
    throw driverError(
      'UnsafeMount',
      `${code} contains ${state}, which cannot be hidden in a writable folder`,
    );
  }
  const mask = `/code${state.slice(code.length)}`;
  return [bind, { type: 'tmpfs', target: mask, sizeBytes: 4096, readOnly: true }];
}

function dataMounts({ kind, folders }: SandboxRun): Mount[] {
  const mounts: Mount[] = [];
  if (folders.deps !== undefined) {
    mounts.push({ type: 'bind', source: folders.deps, target: '/deps', writable: kind === 'install' });
    // A link, not a mount: what the install step left there may itself be a link to anywhere.
    mounts.push({ type: 'symlink', target: '/node_modules', to: 'deps/node_modules' });
  }
  if (folders.cache !== undefined) mounts.push(writableBind(folders.cache, '/cache'));
  if (folders.workspace !== undefined) mounts.push(writableBind(folders.workspace, '/workspace'));
  if (folders.shared !== undefined) mounts.push(writableBind(folders.shared, '/shared'));
  return mounts;
}

function readOnlyBind(source: string, target: string): Mount {
  return { type: 'bind', source, target, writable: false };
}

function writableBind(source: string, target: string): Mount {
  return { type: 'bind', source, target, writable: true };
}
