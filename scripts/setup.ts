import { spawnSync } from 'node:child_process';

// What a checkout needs besides its npm packages. Installs what is missing where it may (root, apt), else
// names it. Exits with 1 when something is missing without which nothing works.

interface SystemPackage {
  readonly program: string;
  readonly debian: string;
  readonly why: string;
  readonly required: boolean;
}

const needed: readonly SystemPackage[] = [
  { program: 'bwrap', debian: 'bubblewrap', why: 'agents run in its sandboxes', required: true },
];

function isThere(program: string): boolean {
  return spawnSync('sh', ['-c', `command -v ${program}`], { stdio: 'ignore' }).status === 0;
}

function run(file: string, args: readonly string[]): boolean {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  return spawnSync(file, [...args], { stdio: 'inherit', env }).status === 0;
}

function installPackages(names: readonly string[]): boolean {
  console.log(`Installing ${names.join(', ')}…`);
  const install = ['install', '-y', '--no-install-recommends', ...names];
  // Package lists may be absent (a fresh container) or stale; then once more with new ones.
  return run('apt-get', install) || (run('apt-get', ['update']) && run('apt-get', install));
}

if (Number(process.versions.node.split('.')[0]) < 24) {
  console.error(
    `Node ${process.versions.node} runs this, and npm has no Node 24 for this machine: install Node 24.`,
  );
  process.exit(1);
}

if (process.platform === 'linux') {
  const missing = needed.filter(({ program }) => !isThere(program));
  const mayInstall = process.getuid?.() === 0 && isThere('apt-get');
  if (missing.length > 0 && mayInstall) installPackages(missing.map(({ debian }) => debian));
  const left = missing.filter(({ program }) => !isThere(program));
  for (const { debian, why } of left) {
    console.error(`${debian} is missing (${why}). Install it: sudo apt-get install ${debian}`);
  }
  if (left.some(({ required }) => required)) process.exit(1);
}
