import { access } from 'node:fs/promises';
import { keepWhatWasAsked } from './asked.ts';
import { commands } from './commands.ts';
import { addFakeNodes, setFakeNodeReady } from './fake-nodes.ts';
import { auditLog } from './local/components.ts';
import { localControls } from './local/controls.ts';
import { takeDown } from './local/down.ts';
import type { Programs } from './local/files.ts';
import { enterNetwork, type Place, placeOf } from './local/place.ts';
import { running } from './local/processes.ts';
import { bringUp, ctr } from './local/up.ts';
import { addLocalVolumes } from './local/volumes.ts';
import { withLock } from './lock.ts';
import { buildPart, type Missing, type PartName } from './parts.ts';
import type { Cluster, Provider } from './provider.ts';
import { hasProgram, run, tryRun } from './run.ts';

/** One real node made of processes on this machine, in a network of its own. Needs root on Linux, and Go once. */
export const localProvider: Provider = { name: 'local', unavailable, start, isUp, down };

const debianPackages: Readonly<Record<string, string>> = {
  runc: 'runc',
  iptables: 'iptables',
  conntrack: 'conntrack',
  ip: 'iproute2',
  nsenter: 'util-linux',
  tar: 'tar',
};

async function unavailable(): Promise<Missing | undefined> {
  if (process.platform !== 'linux') return { missing: 'it runs on Linux only; install Docker and kind' };
  if (process.getuid?.() !== 0) return { missing: 'it needs root; install Docker and kind, or run as root' };
  const packages: string[] = [];
  for (const [program, name] of Object.entries(debianPackages))
    if (!(await hasProgram(program))) packages.push(name);
  if (!(await hasPlugins())) packages.push('containernetworking-plugins');
  if (packages.length > 0) return { missing: `install ${packages.join(' ')} (apt-get install)` };
  // An unusable place is told with its remedy, before anything is built.
  placeOf('check');
  return undefined;
}

async function hasPlugins(): Promise<boolean> {
  const found = await Promise.allSettled(
    ['/usr/lib/cni/ptp', '/opt/cni/bin/ptp'].map((path) => access(path)),
  );
  return found.some(({ status }) => status === 'fulfilled');
}

async function start(name: string, progress: (line: string) => void): Promise<Cluster | Missing> {
  const place = placeOf(name);
  const programs = await buildAll(progress);
  if ('missing' in programs) return programs;
  await withLock(`${place.folder}.lock`, async () => {
    if (await isUp(name)) return;
    // What a crash left, or a machine that was restarted.
    await takeDown(place);
    const started = performance.now();
    try {
      await bringUp(place, programs, progress);
    } catch (error) {
      await takeDown(place);
      throw error;
    }
    progress(`up in ${((performance.now() - started) / 1000).toFixed(1)} s`);
  });
  return clusterAt(place);
}

async function buildAll(progress: (line: string) => void): Promise<Programs | Missing> {
  const names: PartName[] = ['kube', 'containerd', 'coredns', 'kwok', 'helm', 'pause'];
  const folders: Partial<Record<PartName, string>> = {};
  for (const name of names) {
    const folder = await buildPart(name, progress);
    if (typeof folder !== 'string') return folder;
    folders[name] = folder;
  }
  const { kube = '', containerd = '', coredns = '', kwok = '', helm = '', pause = '' } = folders;
  return { kube, containerd, coredns, kwok, helm, pause };
}

async function isUp(name: string): Promise<boolean> {
  const place = placeOf(name);
  const isReady = await access(place.file('ready')).then(
    () => true,
    () => false,
  );
  const names = await running(place);
  return (
    isReady && ['anchor', 'etcd', 'apiserver', 'containerd', 'kubelet'].every((part) => names.includes(part))
  );
}

async function down(name: string): Promise<void> {
  const place = placeOf(name);
  await withLock(`${place.folder}.lock`, async () => {
    await keepWhatWasAsked(auditLog(place)).catch(() => undefined);
    await takeDown(place);
  });
}

function clusterAt(place: Place): Cluster {
  const kubeconfig = place.file('kubeconfig', 'admin');
  const enter = enterNetwork(place);
  const run = commands({ enter, kubeconfig, bin: place.file('bin') });
  return {
    name: place.name,
    provider: 'local',
    kubeconfig,
    enter,
    env: run.env,
    auditLog: auditLog(place),
    local: localControls(place),
    ...run.calls,
    loadImages: (archives) => loadImages(place, archives),
    addFakeNodes: (count, options) => addFakeNodes(run.calls, count, options),
    setFakeNodeReady: (name, ready) => setFakeNodeReady(run.calls, name, ready),
    addVolumes: (count, options) => addLocalVolumes(place, run.calls, count, options),
    close: () => down(place.name),
  };
}

async function loadImages(place: Place, archives: readonly string[]): Promise<void> {
  for (const archive of archives) {
    await run(ctr(place, 'images', 'import', archive));
  }
  // kubelet asks by name; containerd tells it a moment after the import.
  await tryRun(ctr(place, 'images', 'ls', '-q'));
}
