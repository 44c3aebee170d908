import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

// What a checkout needs besides its npm packages; with the argument `cluster`, what a Kubernetes made of processes
// needs besides Go; with `bench`, what the bench of gateways measures with; with `attacks`, what the other sandbox needs. Installs what is missing where it may (root, apt), else names it. Exits with 1 when something
// is missing without which nothing works.

interface SystemPackage {
  /** A program on PATH, or a file. */
  readonly program: string;
  readonly debian: string;
  readonly why: string;
  readonly required: boolean;
}

const everywhere: readonly SystemPackage[] = [
  { program: 'bwrap', debian: 'bubblewrap', why: 'agents run in its sandboxes', required: true },
];

// None is required: without them kind does it, or the tests on a cluster are skipped and say so.
const forClusters: readonly SystemPackage[] = [
  { program: 'runc', debian: 'runc', why: 'pods are its containers', required: false },
  {
    program: '/usr/lib/cni/ptp',
    debian: 'containernetworking-plugins',
    why: 'pods get their network from it',
    required: false,
  },
  { program: 'iptables', debian: 'iptables', why: 'kube-proxy writes Services with it', required: false },
  {
    program: 'conntrack',
    debian: 'conntrack',
    why: 'kube-proxy forgets connections with it',
    required: false,
  },
  { program: 'ip', debian: 'iproute2', why: 'the network of the cluster is made with it', required: false },
  { program: '/bin/busybox', debian: 'busybox-static', why: 'the pods of tests run it', required: false },
];

// None is required: what cannot be measured is named and skipped.
const forBenches: readonly SystemPackage[] = [
  { program: 'wrk', debian: 'wrk', why: 'the load of the bench of gateways', required: false },
  { program: 'nginx', debian: 'nginx-light', why: 'that bench compares with it', required: false },
  { program: 'taskset', debian: 'util-linux', why: 'benches bind programs to cores', required: false },
];

// None is required: without them the other sandbox is not run, and its column says so.
const forAttacks: readonly SystemPackage[] = [
  {
    program: 'socat',
    debian: 'socat',
    why: 'the sandbox of others that ours is compared with needs it',
    required: false,
  },
  { program: 'rg', debian: 'ripgrep', why: 'so does it this', required: false },
  { program: '/usr/bin/python3', debian: 'python3', why: 'attacks are written in it', required: true },
];

const sets: Readonly<Record<string, readonly SystemPackage[]>> = {
  cluster: forClusters,
  bench: forBenches,
  attacks: forAttacks,
};
const isForClusters = process.argv[2] === 'cluster';
const needed = sets[process.argv[2] ?? ''] ?? everywhere;

function isThere(program: string): boolean {
  if (program.startsWith('/')) return existsSync(program);
  return spawnSync('sh', ['-c', `command -v ${program}`], { stdio: 'ignore' }).status === 0;
}

/** Docker and podman clusters need none of this. */
function hasContainerDaemon(): boolean {
  return ['docker', 'podman'].some((name) => spawnSync(name, ['info'], { timeout: 10_000 }).status === 0);
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

if (process.platform === 'linux' && !(isForClusters && hasContainerDaemon())) {
  const missing = needed.filter(({ program }) => !isThere(program));
  const mayInstall = process.getuid?.() === 0 && isThere('apt-get');
  if (missing.length > 0 && mayInstall) installPackages(missing.map(({ debian }) => debian));
  const left = missing.filter(({ program }) => !isThere(program));
  for (const { debian, why } of left) {
    console.error(`${debian} is missing (${why}). Install it: sudo apt-get install ${debian}`);
  }
  if (left.some(({ required }) => required)) process.exit(1);
}
