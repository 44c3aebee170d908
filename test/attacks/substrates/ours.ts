import { commandLineFor, type Weakening } from '#test/fixtures/attack-sandbox.ts';
import type { DriverHost } from '#test/fixtures/driver-host.ts';
import type { Substrate } from '../case.ts';

/** The very sandbox that the bwrap driver starts for an agent whose code is the project, or a weakened one. */
export function openOurs(
  host: DriverHost,
  project: string,
  weakening: Weakening = {},
  writable = false,
): Substrate {
  const code = { type: 'path', path: project, writable } as const;
  return {
    name: 'ours',
    paths: { scratch: '/workspace', project: '/code' },
    async line(command) {
      const line = await commandLineFor(host, command, { code, weakening });
      return { ...line, env: {} };
    },
    close: async () => undefined,
  };
}
