import { access, statfs } from 'node:fs/promises';
import { hostFacts, locateWorkspace } from '../host.ts';
import { listenOnLoopback } from '../listen.ts';
import { findHolder } from '../lock.ts';
import { checkLimits } from './limits.ts';
import { type CheckResult, fail, ok, warn } from './result.ts';
import { runProgram } from './run-program.ts';
import { checkSandbox } from './sandbox.ts';

type Environment = Readonly<Record<string, string | undefined>>;

export interface DoctorCheck {
  readonly name: string;
  run(folder: string): Promise<CheckResult>;
}

const enoughBytes = 1024 ** 3;

/** The helper that ends everything of a call, or why there is none. */
export type FoundReaper = { readonly path: string } | { readonly missing: string; readonly isUnbuilt?: true };

/** What `ploinky doctor` looks at, in the order in which it is shown. */
export function doctorChecks(env: Environment, findReaper: () => FoundReaper): DoctorCheck[] {
  return [
    { name: 'Node', run: async () => checkNode(process.versions.node) },
    { name: 'Sandbox', run: () => checkSandbox(process.platform) },
    { name: 'Reaper', run: async () => checkReaper(findReaper(), process.platform) },
    { name: 'Limits', run: () => checkLimits(process.getuid?.() ?? -1) },
    { name: 'Workspace', run: (folder) => checkWorkspace(folder, env) },
    { name: 'Port', run: checkPort },
    { name: 'Disk', run: checkDisk },
    { name: 'npm', run: checkNpm },
    { name: 'kubectl', run: (folder) => checkKubectl(folder, env) },
  ];
}

export function checkNode(version: string): CheckResult {
  const major = Number(version.split('.')[0]);
  return major >= 24
    ? ok(`v${version}`)
    : fail(`v${version} is too old`, 'Run `make setup`: it brings Node 24.');
}

export function checkReaper(found: FoundReaper, platform: string): CheckResult {
  if ('path' in found) return ok('whatever a call leaves behind ends with it');
  if (found.isUnbuilt === true) return ok('the first `ploinky up` builds it, with a C compiler');
  const detail = `what calls leave behind is looked for by its traces: ${found.missing}`;
  const remedy = 'Install a C compiler (apt install gcc libc6-dev) and run `npm run build`.';
  return platform === 'linux' ? warn(detail, remedy) : ok(detail);
}

async function checkWorkspace(folder: string, env: Environment): Promise<CheckResult> {
  const paths = await locateWorkspace(folder, env);
  const holder = await findHolder(paths.running);
  const user = hostFacts(env).uid === 0 ? ', as root' : '';
  return ok(`${paths.root}${user}: ${holder === undefined ? 'not up' : `up at ${holder.url}`}`);
}

async function checkPort(): Promise<CheckResult> {
  const { server, port } = await listenOnLoopback({});
  server.close();
  return ok(port === 8080 ? '8080 is free' : `8080 is taken; the next workspace gets ${port}`);
}

async function checkDisk(folder: string): Promise<CheckResult> {
  const { bavail, bsize } = await statfs(folder);
  const free = bavail * bsize;
  // Sandboxes have folders of one file system: none can be given a part of it.
  const text = `${(free / 1024 ** 3).toFixed(1)} GiB free, for all agents: a host has no quota for storage.size`;
  return free >= enoughBytes ? ok(text) : warn(text, 'npm packages of agents need space; free 1 GiB.');
}

async function checkNpm(): Promise<CheckResult> {
  const { found, output } = await runProgram('npm', ['--version']);
  return found ? ok(output.split('\n').at(-1) ?? '') : warn('not on PATH', 'Run `make setup`.');
}

async function checkKubectl(folder: string, env: Environment): Promise<CheckResult> {
  const { kubeconfig } = await locateWorkspace(folder, env);
  const written = await access(kubeconfig).then(
    () => `kubeconfig: ${kubeconfig}`,
    () => 'no kubeconfig yet: `ploinky up` writes it',
  );
  const { found } = await runProgram('kubectl', ['version', '--client']);
  return found
    ? ok(written)
    : warn(`kubectl is not installed; ${written}`, 'It is optional: `ploinky get` does without.');
}
