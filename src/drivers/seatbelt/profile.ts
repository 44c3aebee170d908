import type { SandboxRun } from '../host/sandbox.ts';

export interface ProfileOptions {
  /** The workspace's `.ploinky`: denied but for what the run owns of it. */
  readonly state: string;
  /** Program and script that are started, and what else of the product is read. */
  readonly programs: readonly string[];
}

/** Parts of macOS that programs read. */
const systemFolders = [
  '/System',
  '/usr',
  '/bin',
  '/sbin',
  '/Library/Frameworks',
  '/Library/Apple',
  '/opt/homebrew',
  '/private/etc',
  '/private/var/db/timezone',
  '/private/var/db/dyld',
  '/dev',
];

/**
 * The sandbox of `run` as an SBPL profile (Apple's sandbox language, version 1): everything is denied, then
 * what follows is allowed; the last rule that matches counts. macOS has no mount namespaces, so paths are the
 * host's own. Pure; its effect is untested, there being no macOS where this is developed.
 */
export function renderProfile(run: SandboxRun, options: ProfileOptions): string {
  const { folders } = run;
  const readable = [...systemFolders, ...options.programs, folders.code, folders.deps, folders.files];
  const isInstall = run.kind === 'install';
  const writable = [
    folders.workspace,
    folders.shared,
    isInstall ? folders.deps : undefined,
    isInstall ? folders.cache : undefined,
    folders.codeWritable && !isInstall ? folders.code : undefined,
  ];
  return [
    '(version 1)',
    '(deny default)',
    '(allow process-fork process-exec)',
    '(allow signal (target same-sandbox))',
    '(allow sysctl-read)',
    '(allow mach-lookup (global-name "com.apple.system.opendirectoryd.libinfo"))',
    '(allow file-read-metadata)',
    allow('file-read*', ['/']).replace('subpath', 'literal'),
    allow('file-read*', readable),
    // A folder of the workspace may contain the private part; what the run owns of it is allowed again below.
    deny('file-read* file-write*', [options.state]),
    allow('file-read*', ownPartsOf(options.state, [folders.code, folders.deps, folders.files])),
    allow('file-read* file-write*', writable),
    '(allow file-write-data (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty"))',
    allow('network-outbound file-read*', [folders.sockets]),
    '(allow network-bind network-inbound (local ip "localhost:*"))',
    '(allow network-outbound (remote ip "localhost:*"))',
  ]
    .filter((rule) => rule !== '')
    .join('\n')
    .concat('\n');
}

function ownPartsOf(state: string, paths: readonly (string | undefined)[]): (string | undefined)[] {
  return paths.filter((path) => path?.startsWith(`${state}/`));
}

function allow(operations: string, paths: readonly (string | undefined)[]): string {
  return rule('allow', operations, paths);
}

function deny(operations: string, paths: readonly (string | undefined)[]): string {
  return rule('deny', operations, paths);
}

function rule(verb: string, operations: string, paths: readonly (string | undefined)[]): string {
  const filters = paths.filter((path) => path !== undefined).map((path) => `(subpath ${quote(path)})`);
  return filters.length === 0 ? '' : `(${verb} ${operations} ${filters.join(' ')})`;
}

/** An SBPL string. A control character cannot be written in one, so such a path is refused. */
export function quote(path: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for.
  if (/[\u0000-\u001f\u007f]/.test(path))
    throw new Error(`a path with control characters: ${JSON.stringify(path)}`);
  return `"${path.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
}
