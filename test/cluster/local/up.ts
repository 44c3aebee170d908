import { copyFile, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { writeImageArchive } from '../archive.ts';
import { run, tryRun } from '../run.ts';
import { makeGroups } from './cgroups.ts';
import { type Component, componentCommands } from './components.ts';
import { type Programs, writeConfigurations } from './files.ts';
import { writeIdentities } from './identities.ts';
import { makeNetwork } from './network.ts';
import { enterNetwork, nodeName, type Place, pauseImage } from './place.ts';
import { startAnchor, startComponent } from './processes.ts';

/** Brings up one node with all of Kubernetes. Takes some seconds; half of a cluster is left when it rejects. */
export async function bringUp(
  place: Place,
  programs: Programs,
  progress: (line: string) => void,
): Promise<void> {
  await mkdir(place.folder, { recursive: true, mode: 0o700 });
  await Promise.all([writeConfigurations(place, programs), writeIdentities(place), makeGroups(place)]);
  await makeNetwork(place);
  await startAnchor(place, join(programs.pause, 'pause'));
  await linkPrograms(place, programs);
  const commands = componentCommands(place, programs);
  const start = (...names: Component[]) =>
    Promise.all(names.map((name) => startComponent(place, name, commands[name])));
  await start('etcd', 'apiserver', 'containerd');
  progress('waiting for the API server');
  await Promise.all([waitForApi(place), loadPauseImage(place, programs)]);
  await start('manager', 'scheduler', 'kubelet', 'proxy', 'dns', 'kwok');
  progress('waiting for the node');
  await waitForNode(place);
  await writeFile(place.file('ready'), new Date().toISOString());
}

/** Short names for people and scripts that enter the cluster. */
async function linkPrograms(place: Place, programs: Programs): Promise<void> {
  await mkdir(place.file('bin'));
  await symlink(join(programs.kube, 'kubelab'), place.file('bin', 'kubectl'));
  await symlink(join(programs.helm, 'helm'), place.file('bin', 'helm'));
  await symlink(join(programs.containerd, 'ctr'), place.file('bin', 'ctr'));
}

/** Resolves when the API server answers; rejects with the end of its log when it does not within a minute. */
export async function waitForApi(place: Place): Promise<void> {
  await until(
    place,
    'apiserver',
    60,
    async () => (await kubectl(place, 'get', '--raw', '/readyz')).code === 0,
  );
}

async function waitForNode(place: Place): Promise<void> {
  const jsonpath = '-ojsonpath={.status.conditions[?(@.type=="Ready")].status}';
  await until(place, 'kubelet', 60, async () => {
    const [node, account] = await Promise.all([
      kubectl(place, 'get', 'node', nodeName, jsonpath),
      kubectl(place, 'get', 'serviceaccount', 'default', '-oname'),
    ]);
    return node.stdout === 'True' && account.code === 0;
  });
}

async function until(
  place: Place,
  component: Component,
  seconds: number,
  isDone: () => Promise<boolean>,
): Promise<void> {
  const deadline = Date.now() + seconds * 1000;
  while (!(await isDone())) {
    if (Date.now() > deadline) throw new Error(await lastLines(place, component, seconds));
    await sleep(200);
  }
}

async function lastLines(place: Place, component: Component, seconds: number): Promise<string> {
  const log = place.file('log', `${component}.log`);
  const { stdout } = await tryRun(['tail', '-n', '15', log]);
  return `the cluster's ${component} is not ready after ${seconds} s; the end of ${log}:\n${stdout}`;
}

function kubectl(place: Place, ...args: string[]) {
  const program = [place.file('bin', 'kubectl'), '--kubeconfig', place.file('kubeconfig', 'admin')];
  return tryRun([...enterNetwork(place), ...program, '--request-timeout=5s', ...args]);
}

async function loadPauseImage(place: Place, programs: Programs): Promise<void> {
  const root = place.file('images', 'pause');
  await mkdir(root, { recursive: true });
  await copyFile(join(programs.pause, 'pause'), join(root, 'pause'));
  const archive = place.file('images', 'pause.tar');
  await writeImageArchive({ name: pauseImage, entrypoint: ['/pause'], root }, archive);
  await until(place, 'containerd', 30, async () => (await tryRun(ctr(place, 'version'))).code === 0);
  await run(ctr(place, 'images', 'import', archive));
}

/** containerd's own command, in the namespace of Kubernetes' images. */
export function ctr(place: Place, ...args: string[]): string[] {
  return [place.file('bin', 'ctr'), '-a', place.file('containerd.sock'), '-n', 'k8s.io', ...args];
}
