import type { LocalControls } from '../provider.ts';
import { run } from '../run.ts';
import type { Component } from './components.ts';
import { enterNetwork, type Place } from './place.ts';
import { pidOf, signalComponent, startAgain, stopComponent } from './processes.ts';
import { waitForApi } from './up.ts';

/** Faults by number of process: nothing else on the machine is touched. */
export function localControls(place: Place): LocalControls {
  return {
    folder: place.folder,
    stop: (component) => stopComponent(place, component),
    start: (component) => startAgain(place, component),
    restart: (component) => restart(place, component),
    pause: (component) => signalComponent(place, component, 'SIGSTOP'),
    resume: (component) => signalComponent(place, component, 'SIGCONT'),
    compact: () => compact(place),
    pid: (component) => pidOf(place, component),
  };
}

async function restart(place: Place, component: Component): Promise<void> {
  await stopComponent(place, component);
  await startAgain(place, component);
  if (component === 'apiserver' || component === 'etcd') await waitForApi(place);
}

/** etcd's gateway speaks JSON, so its own client is not needed. It listens in the cluster's network only. */
async function compact(place: Place): Promise<void> {
  const script = `
    const post = async (path, body) => {
      const answer = await fetch('http://127.0.0.1:2379/v3/kv/' + path, { method: 'POST', body: JSON.stringify(body) });
      const text = await answer.text();
      if (!answer.ok) throw new Error(path + ': ' + text);
      return JSON.parse(text);
    };
    const { header } = await post('range', { key: 'AA==' });
    await post('compaction', { revision: header.revision, physical: true });`;
  await run([...enterNetwork(place), process.execPath, '--input-type=module', '-e', script]);
}
