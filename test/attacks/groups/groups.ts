import { existsSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { AttackGroup, Findings, Target } from '../case.ts';
import { probe } from '../probe.ts';
import { links } from './links.ts';
import { terminal } from './terminal.ts';

const status: AttackGroup = {
  id: 'S18',
  title: 'What a process holds',
  run: (substrate) => probe(substrate, 'status'),
};

const kernel: AttackGroup = {
  id: 'S18',
  title: 'The kernel’s surfaces',
  run: (substrate) => probe(substrate, 'kernel', { scratch: substrate.paths.scratch }),
};

const network: AttackGroup = {
  id: 'S16',
  title: 'Sockets and the network',
  run: (substrate, { network: given }) => probe(substrate, 'network', given),
};

const files: AttackGroup = {
  id: 'S17',
  title: 'Files and processes of the host',
  async run(substrate, target) {
    const { canary, word, other, key, pid } = target;
    const written = join(dirname(canary), 'new');
    rmSync(written, { force: true });
    const { scratch } = substrate.paths;
    const findings = await probe(substrate, 'files', { canary, word, other, key, pid, scratch });
    return corrected(findings, { 'write beside it': existsSync(written) });
  },
};

/** What people and programs run later: the project's, and those of the home folder. */
const places = {
  project: [
    '.git/hooks/pre-commit',
    '.git/config',
    '.bashrc',
    '.mcp.json',
    '.vscode/settings.json',
    '.claude/commands/x.md',
  ],
  home: [
    '.bashrc',
    '.profile',
    '.ssh/authorized_keys',
    '.config/autostart/x.desktop',
    '.claude/settings.json',
  ],
} as const;

export const persistence: AttackGroup = {
  id: 'S19',
  title: 'What is run later, by others',
  async run(substrate, target) {
    const words = { project: 'of the project', home: 'of the home folder' };
    const paths = { project: substrate.paths.project, home: target.home };
    const findings = await probe(substrate, 'persistence', { places, words, paths });
    return corrected(findings, plantedOn(target, words));
  },
};

/** Asked of the host: inside, a folder of that name may be a private one. */
function plantedOn(target: Target, words: Readonly<Record<string, string>>): Record<string, boolean> {
  const on = { project: target.project, home: target.home };
  const found = Object.entries(places).flatMap(([place, names]) =>
    names.map((name) => {
      const path = join(on[place as keyof typeof on], name);
      const old = path.replace('/.git/', '/.git.old/');
      return [`${name} ${words[place]}`, [path, old].some(isPlanted)] as const;
    }),
  );
  return Object.fromEntries(found);
}

function isPlanted(path: string): boolean {
  return existsSync(path) && readFileSync(path, 'utf8').includes('# planted');
}

/** What did not show on the host was stopped, whatever it looked like inside. */
function corrected(findings: Findings, isReal: Readonly<Record<string, boolean>>): Findings {
  return new Map(
    [...findings].map(([name, finding]) =>
      finding.verdict === 'works' && isReal[name] === false
        ? [name, { verdict: 'stopped', detail: 'in a private folder' }]
        : [name, finding],
    ),
  );
}

/** All that need no limits and no long time. */
export const groups: readonly AttackGroup[] = [terminal, network, files, links, status, kernel, persistence];
