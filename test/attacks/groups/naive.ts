import { existsSync } from 'node:fs';
import { run } from '../probe.ts';

/**
 * bubblewrap itself, told to make a folder below `link` in a folder that is writable: what a careless program does, and
 * the control of attacks by links.
 */
export async function startNaively(writable: string): Promise<void> {
  const user = process.getuid?.() === 0 ? [] : ['--unshare-user'];
  const links = ['bin', 'lib', 'lib64']
    .filter((name) => existsSync(`/usr/${name}`))
    .flatMap((name) => ['--symlink', `usr/${name}`, `/${name}`]);
  const mounts = ['--ro-bind', '/usr', '/usr', ...links, '--bind', writable, '/ws', '--dir', '/ws/link/made'];
  const command = ['bwrap', ...user, ...mounts, '--', '/bin/true'] as const;
  await run({ command, files: [], env: process.env, close: () => undefined });
}
