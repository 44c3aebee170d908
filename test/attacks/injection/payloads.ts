import { execFileSync } from 'node:child_process';
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** Texts that make a file at `canary` when a shell, or an option of a careless program, gets to see them. */
export function ownPayloads(canary: string): string[] {
  const touch = `touch ${canary}`;
  const spaceless = touch.replaceAll(' ', '$' + '{IFS}');
  return [
    ...[`$(${touch})`, `\`${touch}\``, `;${touch};`, `|${touch}`, `||${touch}`, `&&${touch}`, `&${touch}&`],
    ...[
      `\n${touch}\n`,
      `\r\n${touch}\r\n`,
      `a\0;${touch}`,
      `$(${spaceless})`,
      `;${spaceless};`,
      `>${canary}`,
    ],
    ...[
      `'; ${touch}; '`,
      `"; ${touch}; "`,
      `'$(${touch})'`,
      `"$(${touch})"`,
      `\\";${touch};\\"`,
      `');${touch};('`,
    ],
    ...[`<(${touch})`, `>(${touch})`, `{touch,${canary}}`, `$'\\n'${touch}`, `#\n${touch}`, `%0a${touch}`],
    ...[
      `-e ${touch}`,
      `--exec=${touch}`,
      `-oProxyCommand=${touch}`,
      `--upload-pack=${touch}`,
      `--output=${canary}`,
    ],
    ...[
      `-c ${touch}`,
      `--eval=require('fs').writeFileSync('${canary}','')`,
      `--require=${canary}`,
      '-',
      '--',
    ],
    ...[
      `@${canary}`,
      `!${touch}`,
      `~;${touch}`,
      `*;${touch}`,
      `\u2028${touch}`,
      `\u00a0;${touch}`,
      `\x1b;${touch}`,
    ],
    ...[`\${${touch}}`, `{{${touch}}}`, `<%= \`${touch}\` %>`, `__import__('os').system('${touch}')`],
    ...[`() { :; }; ${touch}`, `a=$(${touch})`, `$((a[$(${touch})]))`, `\`\`${touch}`, `; ${touch} #`],
  ];
}

/** Programs that the lists of others try to run. */
export const commonPrograms = [
  ...[
    'id',
    'ls',
    'dir',
    'cat',
    'type',
    'ping',
    'whoami',
    'uname',
    'netstat',
    'echo',
    'sleep',
    'wget',
    'curl',
  ],
  ...[
    'nc',
    'ps',
    'ifconfig',
    'ipconfig',
    'set',
    'env',
    'more',
    'net',
    'perl',
    'python',
    'tftp',
    'telnet',
    'rm',
  ],
];

/** Lists of the Debian package wfuzz, fetched once into the user's cache; or why they cannot be had. */
export function debianLists(): { readonly lines: readonly string[] } | { readonly missing: string } {
  const found = wordlists();
  if ('missing' in found) return found;
  const { folder } = found;
  const files = globSync('Injections/*.txt', { cwd: folder }).sort();
  const lines = files.flatMap((file) => readFileSync(join(folder, file), 'latin1').split(/\r?\n/));
  return { lines: [...new Set(lines)].filter((line) => line !== '') };
}

/** The folder of the lists. */
export function wordlists(): { readonly folder: string } | { readonly missing: string } {
  const folder = join(homedir(), '.cache/ploinky/wordlists/wfuzz');
  try {
    if (!existsSync(folder)) fetchLists(folder);
  } catch {
    return { missing: 'the package wfuzz cannot be fetched (apt-get download wfuzz)' };
  }
  return { folder: join(folder, 'usr/share/wfuzz/wordlist') };
}

function fetchLists(folder: string): void {
  mkdirSync(join(folder, '..'), { recursive: true });
  const work = mkdtempSync(join(folder, '../.wfuzz-'));
  try {
    execFileSync('apt-get', ['download', 'wfuzz'], { cwd: work, stdio: 'ignore', timeout: 60_000 });
    const [archive = ''] = globSync('*.deb', { cwd: work });
    execFileSync('dpkg-deb', ['-x', archive, folder], { cwd: work });
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
