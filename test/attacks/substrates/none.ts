import type { Paths, Substrate } from '../case.ts';

/**
 * No sandbox: the control, in which attacks must work. Root's are in a mount namespace of their own, so that one
 * which mounts something does it to nobody else.
 */
export function openNone(paths: Paths, descriptor: number): Substrate {
  const shield = process.getuid?.() === 0 ? ['unshare', '--mount', '--propagation', 'private'] : [];
  return {
    name: 'none',
    paths,
    async line(command) {
      const [file = '', ...args] = [...shield, ...command];
      return { command: [file, ...args], files: [descriptor], env: process.env, close: () => undefined };
    },
    close: async () => undefined,
  };
}
