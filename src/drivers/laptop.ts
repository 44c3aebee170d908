import { join } from 'node:path';
import { readSystemLayout } from './bwrap/available.ts';
import { createBwrapDriver } from './bwrap/driver.ts';
import { seccompFilterFor } from './bwrap/seccomp/filter.ts';
import type { Driver } from './driver.ts';
import type { HostDriverOptions } from './host/options.ts';
import { createProcessDriver } from './process/driver.ts';
import { createSeatbeltDriver } from './seatbelt/driver.ts';

export interface LaptopOptions extends Omit<HostDriverOptions, 'sandbox'> {
  readonly platform: NodeJS.Platform;
  readonly arch: string;
  /** Program that agents run under: this process's own Node. */
  readonly node: string;
  /** Files of the agent-server by the name they have in /Agent; `agent-server.mjs` is one. */
  readonly agentFiles: Readonly<Record<string, string>> & { readonly 'agent-server.mjs': string };
  /** Folder of the npm package, for install steps. */
  readonly npm?: string;
  /** For agents without a sandbox, which share the host's loopback. */
  readonly routerUrl: string;
  /** Default: /usr/bin/bwrap and /usr/bin/setpriv. */
  readonly bwrap?: string;
  readonly setpriv?: string;
}

const defaultSetpriv = '/usr/bin/setpriv';

/** Every driver of one machine, the sandboxes first. Nothing is started or checked here. */
export function createLaptopDrivers(options: LaptopOptions): readonly Driver[] {
  const sandboxed = options.platform === 'darwin' ? seatbelt(options) : bwrap(options);
  return [sandboxed, unsandboxed(options)];
}

function bwrap(options: LaptopOptions): Driver {
  const { node, agentFiles, npm, places, self } = options;
  return createBwrapDriver({
    ...options,
    bwrap: {
      host: {
        ...self,
        bwrap: options.bwrap ?? '/usr/bin/bwrap',
        setpriv: options.setpriv ?? defaultSetpriv,
        seccompFilter: seccompFilterFor(options.arch),
        system: readSystemLayout(),
      },
      state: places.state,
      workspaceId: places.root,
      node,
      agentFiles,
      npm,
    },
  });
}

function seatbelt(options: LaptopOptions): Driver {
  return createSeatbeltDriver({
    ...options,
    seatbelt: { ...unsandboxedPaths(options), state: options.places.state },
  });
}

function unsandboxed(options: LaptopOptions): Driver {
  const setpriv = options.platform === 'linux' ? { setpriv: options.setpriv ?? defaultSetpriv } : {};
  return createProcessDriver({ ...options, process: { ...unsandboxedPaths(options), ...setpriv } });
}

function unsandboxedPaths({ node, agentFiles, npm, routerUrl }: LaptopOptions) {
  const binFolders = npm === undefined ? [] : [join(npm, '..', '.bin'), join(npm, 'bin')];
  return { node, agentServer: agentFiles['agent-server.mjs'], routerUrl, binFolders };
}
