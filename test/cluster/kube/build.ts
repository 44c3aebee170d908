import { execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { access, mkdir, readFile, rename } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const folder = import.meta.dirname;
const kubernetesVersion = 'v1.36.3';

/** Why there is no real Kubernetes to test against, in words for the log. */
export interface Missing {
  readonly missing: string;
}

/**
 * The binary with etcd, kube-apiserver, kube-controller-manager and kubectl. Built once from the pinned modules
 * beside this file (some six minutes on two cores) and kept outside the checkout under a hash of them.
 * `PLOINKY_KUBE_BUILD=0` forbids building: then only a kept binary is used.
 */
export async function kubeBinary(progress: (line: string) => void): Promise<string | Missing> {
  const target = await cachePath();
  if (await exists(target)) return target;
  if (process.env['PLOINKY_KUBE_BUILD'] === '0')
    return { missing: 'there is no built kube-apiserver and PLOINKY_KUBE_BUILD=0 forbids building one' };
  const version = await goVersion();
  if (version === undefined)
    return { missing: 'Go is not installed; install golang (1.26 or later) to build one' };
  progress(
    `building etcd, kube-apiserver and kubectl ${kubernetesVersion} with ${version} into ${target}; this takes minutes, once`,
  );
  const started = performance.now();
  const ticker = setInterval(
    () => progress(`still building (${Math.round((performance.now() - started) / 1000)} s)`),
    20_000,
  );
  try {
    await build(target);
  } catch (error) {
    return { missing: `building failed: ${error instanceof Error ? error.message : String(error)}` };
  } finally {
    clearInterval(ticker);
  }
  progress(`built in ${Math.round((performance.now() - started) / 1000)} s`);
  return target;
}

/** Where the binary of the present module files is kept. */
export async function cachePath(): Promise<string> {
  const hash = createHash('sha256');
  for (const file of ['go.mod', 'go.sum', 'main.go']) hash.update(await readFile(join(folder, file)));
  const cache = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache');
  return join(cache, 'ploinky', `kube-${hash.digest('hex').slice(0, 16)}`, 'kubelab');
}

async function build(target: string): Promise<void> {
  await mkdir(join(target, '..'), { recursive: true });
  const variables = 'k8s.io/component-base/version';
  const flags = [
    '-s -w',
    `-X ${variables}.gitVersion=${kubernetesVersion}`,
    `-X ${variables}.gitMajor=1 -X ${variables}.gitMinor=36 -X ${variables}.gitTreeState=clean`,
  ].join(' ');
  const temporary = `${target}.${process.pid}`;
  const child = spawn('go', ['build', '-tags', 'providerless', '-ldflags', flags, '-o', temporary, '.'], {
    cwd: folder,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  await new Promise<void>((resolve, reject) => {
    child.on('error', reject);
    child.on('exit', (code) => (code === 0 ? resolve() : reject(new Error(`go build ended with ${code}`))));
  });
  await rename(temporary, target);
}

async function goVersion(): Promise<string | undefined> {
  try {
    const { stdout } = await promisify(execFile)('go', ['version']);
    return stdout.trim().replace('go version ', '');
  } catch {
    return undefined;
  }
}

async function exists(path: string): Promise<boolean> {
  return await access(path).then(
    () => true,
    () => false,
  );
}
