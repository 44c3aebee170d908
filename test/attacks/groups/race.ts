import { spawn } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AttackGroup, Finding, Substrate, Target } from '../case.ts';
import { python, runIn } from '../probe.ts';
import { startNaively } from './naive.ts';

/** Swaps names between a folder and a link that leads outside, as an agent does while another one is started. */
const swapper = `
import os, shutil, sys, time
folder, outside, names, count, done = sys.argv[1], sys.argv[2], sys.argv[3].split(","), int(sys.argv[4]), sys.argv[5]
def remove(path):
    if os.path.islink(path):
        os.unlink(path)
    else:
        shutil.rmtree(path, ignore_errors=True)
swaps = 0
while swaps < count or not os.path.exists(done):
    for name in names:
        path = os.path.join(folder, name)
        try:
            remove(path)
            os.symlink("/oldroot" + outside, path)
            time.sleep(0.0005)
            remove(path)
            os.mkdir(path)
            time.sleep(0.0005)
        except OSError:
            pass
        swaps += 1
`;

const names = ['link', '.git', '.ploinky', 'code', 'deps', 'node_modules'];

/** At least `count` swaps while a sandbox that sees the folder is started `starts` times. */
export function race(count: number, starts = 100): AttackGroup {
  return {
    id: 'S17',
    title: 'Links swapped while sandboxes start',
    async run(substrate, target) {
      const outside = join(target.folder, `race-${substrate.name}`);
      const naive = join(target.folder, 'swapped');
      for (const path of [outside, naive]) {
        rmSync(path, { recursive: true, force: true });
        mkdirSync(path, { recursive: true });
      }
      const folder = { none: naive, ours: target.shared, peer: target.project }[substrate.name];
      const stop = startSwapping(folder, outside, count, target);
      for (let start = 0; start < starts; start += 1) await startOnce(substrate, folder);
      await stop();
      const isMade = readdirSync(outside).length > 0;
      const finding: Finding = isMade
        ? { verdict: 'works', detail: 'something was made outside' }
        : { verdict: 'stopped', detail: 'nothing outside' };
      return new Map([[`${count.toLocaleString('en')} swaps of a folder for a link`, finding]]);
    },
  };
}

async function startOnce(substrate: Substrate, folder: string): Promise<void> {
  if (substrate.name === 'none') await startNaively(folder);
  else await runIn(substrate, ['/bin/true']);
}

/** Returns how it is told to end, which waits until it has made its number of swaps. */
function startSwapping(folder: string, outside: string, count: number, target: Target): () => Promise<void> {
  const done = join(target.folder, 'done');
  rmSync(done, { force: true });
  const child = spawn(python, ['-c', swapper, folder, outside, names.join(','), String(count), done], {
    stdio: 'ignore',
    timeout: 300_000,
    killSignal: 'SIGKILL',
  });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  return () => {
    writeFileSync(done, '');
    return ended;
  };
}
