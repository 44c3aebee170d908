import { execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { access, glob, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cacheFolder } from './folders.ts';
import { withLock } from './lock.ts';

/** Why something cannot run here and what to install, in words for the log. */
export interface Missing {
  readonly missing: string;
}

/** Programs that one Go module beside this file pins (go.mod and go.sum). */
interface Part {
  /** Arguments of `go build` between `-o FOLDER/` and nothing: tags, flags, packages. */
  readonly build: readonly string[];
  readonly binaries: readonly string[];
  readonly version: string;
  /** What else the programs need, made from the module's sources. */
  finish?(folder: string, source: string): Promise<void>;
}

export type PartName = 'kube' | 'containerd' | 'helm' | 'kwok' | 'coredns' | 'pause' | 'versitygw';

const kubernetesVersion = 'v1.36.3';
const stripped = ['-ldflags', '-s -w'];

// A chart's kubeVersion is compared with gitVersion, which only the linker knows.
const kubeLinkerFlags = [
  '-s -w',
  ...['gitVersion=v1.36.3', 'gitMajor=1', 'gitMinor=36', 'gitTreeState=clean'].map(
    (value) => `-X k8s.io/component-base/version.${value}`,
  ),
].join(' ');

const parts: Readonly<Record<PartName, Part>> = {
  kube: {
    build: ['-tags', 'providerless', '-ldflags', kubeLinkerFlags, '.'],
    binaries: ['kubelab'],
    version: `Kubernetes ${kubernetesVersion} with etcd`,
  },
  containerd: {
    build: [
      ...stripped,
      '-tags',
      'no_btrfs no_devmapper no_zfs',
      ...['containerd', 'containerd-shim-runc-v2', 'ctr'].map(
        (name) => `github.com/containerd/containerd/v2/cmd/${name}`,
      ),
    ],
    binaries: ['containerd', 'containerd-shim-runc-v2', 'ctr'],
    version: 'containerd',
  },
  helm: { build: [...stripped, 'helm.sh/helm/v4/cmd/helm'], binaries: ['helm'], version: 'Helm' },
  kwok: {
    build: [...stripped, 'sigs.k8s.io/kwok/cmd/kwok'],
    binaries: ['kwok', 'stages.yaml'],
    version: 'kwok',
    finish: writeStages,
  },
  coredns: { build: [...stripped, 'github.com/coredns/coredns'], binaries: ['coredns'], version: 'CoreDNS' },
  versitygw: {
    build: [...stripped, 'github.com/versity/versitygw/cmd/versitygw'],
    binaries: ['versitygw'],
    version: 'versitygw',
  },
  pause: { build: [...stripped, '.'], binaries: ['pause'], version: 'the pause program' },
};

/**
 * The folder with a part's programs. Built once and kept outside the checkout under a hash of the module's files;
 * of two builders at once the second waits for the first. `PLOINKY_KUBE_BUILD=0` forbids building.
 */
export async function buildPart(name: PartName, progress: (line: string) => void): Promise<string | Missing> {
  const target = await partFolder(name);
  const isBuilt = () => allThere(target, parts[name].binaries);
  if (await isBuilt()) return target;
  if (process.env['PLOINKY_KUBE_BUILD'] === '0')
    return {
      missing: `there is no built ${parts[name].version} and PLOINKY_KUBE_BUILD=0 forbids building it`,
    };
  const go = await goVersion();
  if (go === undefined)
    return { missing: `Go is not installed; install golang (1.26 or later) to build ${parts[name].version}` };
  try {
    await withLock(`${target}.lock`, async () => {
      if (!(await isBuilt())) await buildLoudly(name, target, go, progress);
    });
    return target;
  } catch (error) {
    return { missing: `building failed: ${error instanceof Error ? error.message : String(error)}` };
  }
}

/** Where the programs of a part's present module files are kept. */
export async function partFolder(name: PartName): Promise<string> {
  const hash = createHash('sha256');
  for (const file of ['go.mod', 'go.sum', 'main.go']) {
    const content = await readFile(join(import.meta.dirname, name, file)).catch(() => undefined);
    if (content !== undefined) hash.update(content);
  }
  return join(cacheFolder(), `${name}-${hash.digest('hex').slice(0, 16)}`);
}

async function buildLoudly(
  name: PartName,
  target: string,
  go: string,
  progress: (line: string) => void,
): Promise<void> {
  const started = performance.now();
  const seconds = () => Math.round((performance.now() - started) / 1000);
  progress(`building ${parts[name].version} with ${go} into ${target}; this takes minutes, once`);
  const ticker = setInterval(
    () => progress(`still building ${parts[name].version} (${seconds()} s)`),
    20_000,
  );
  const temporary = `${target}.${process.pid}`;
  try {
    await build(name, temporary);
    await mkdir(target, { recursive: true });
    for (const file of parts[name].binaries) await rename(join(temporary, file), join(target, file));
  } finally {
    clearInterval(ticker);
    await rm(temporary, { recursive: true, force: true });
  }
  progress(`built ${parts[name].version} in ${seconds()} s`);
}

async function build(name: PartName, folder: string): Promise<void> {
  const source = join(import.meta.dirname, name);
  await mkdir(folder, { recursive: true });
  const child = spawn('go', ['build', '-o', `${folder}/`, ...parts[name].build], {
    cwd: source,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  await new Promise<void>((resolve, reject) => {
    child.on('error', reject);
    child.on('exit', (code) => (code === 0 ? resolve() : reject(new Error(`go build ended with ${code}`))));
  });
  // A module's last path element, or its own name, is what `go build` calls the program.
  if (name === 'kube') await rename(join(folder, 'kube'), join(folder, 'kubelab'));
  await parts[name].finish?.(folder, source);
}

/** kwok simulates nothing without stages; its module carries them. */
async function writeStages(folder: string, source: string): Promise<void> {
  const { stdout } = await promisify(execFile)('go', ['list', '-m', '-f', '{{.Dir}}', 'sigs.k8s.io/kwok'], {
    cwd: source,
  });
  const stages = join(stdout.trim(), 'kustomize/stage');
  const files: string[] = [];
  for await (const file of glob(
    ['node/fast/node-*.yaml', 'node/heartbeat/node-*.yaml', 'pod/fast/pod-*.yaml'],
    {
      cwd: stages,
    },
  ))
    files.push(file);
  const texts = await Promise.all(files.sort().map((file) => readFile(join(stages, file), 'utf8')));
  await writeFile(join(folder, 'stages.yaml'), texts.map((text) => `---\n${text}`).join('\n'));
}

async function goVersion(): Promise<string | undefined> {
  try {
    const { stdout } = await promisify(execFile)('go', ['version']);
    return stdout.trim().replace('go version ', '');
  } catch {
    return undefined;
  }
}

async function allThere(folder: string, files: readonly string[]): Promise<boolean> {
  const found = await Promise.allSettled(files.map((file) => access(join(folder, file))));
  return found.every(({ status }) => status === 'fulfilled');
}
