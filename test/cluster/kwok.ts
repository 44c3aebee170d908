import { join } from 'node:path';
import { placeOf } from './local/place.ts';
import { startOutside, stopComponent } from './local/processes.ts';
import { buildPart } from './parts.ts';

/** Simulates the nodes of a cluster that this machine reaches, as a process on it. Does nothing when it runs. */
export async function startKwok(name: string, kubeconfig: string): Promise<void> {
  const folder = await buildPart('kwok', (line) => console.error(line));
  if (typeof folder !== 'string') throw new Error(`no simulated nodes: ${folder.missing}`);
  const flags = ['--kubeconfig', kubeconfig, '--config', join(folder, 'stages.yaml')];
  const nodes = '--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake';
  await startOutside(placeOf(name), 'kwok', [join(folder, 'kwok'), ...flags, nodes]);
}

export async function stopKwok(name: string): Promise<void> {
  await stopComponent(placeOf(name), 'kwok');
}
