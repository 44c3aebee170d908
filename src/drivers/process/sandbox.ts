import type { AgentView, RunFolders, Sandbox, SandboxRun } from '../host/sandbox.ts';
import type { Launch } from '../host/shim-plan.ts';

export interface ProcessOptions {
  readonly node: string;
  /** The agent-server's bundle. */
  readonly agentServer: string;
  /** Where agents reach the router; they share the host's loopback. */
  readonly routerUrl: string;
  /** util-linux's setpriv, where there is one: ties the agent's life to its shim's. */
  readonly setpriv?: string;
  /** Folders put first on PATH: npm's, so that install steps find it. */
  readonly binFolders: readonly string[];
}

const descriptors = { config: 3, listener: 4 };

/**
 * No sandbox at all: the agent is a process of the user, with the user's files and network. For trusted code
 * during development; it runs only where `runtime.class: Process` asks for it.
 */
export function createProcessSandbox(options: ProcessOptions): Sandbox {
  return {
    name: 'process',
    available: async () => ({ ok: true, detail: 'without a sandbox' }),
    userOf: () => undefined,
    view: (folders) => viewOf(folders, options),
    launch: (run) => tieToParent(launch(run), options.setpriv),
  };
}

/** Everything is where it is on the host. */
function viewOf(folders: RunFolders, options: ProcessOptions): AgentView {
  const deps = ['node_modules/.bin', 'python/bin', 'bin']
    .filter(() => folders.deps !== undefined)
    .map((name) => `${folders.deps}/${name}`);
  const system = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
  return {
    code: folders.code ?? folders.files,
    workspace: folders.workspace ?? folders.files,
    deps: folders.deps,
    temporary: folders.workspace ?? folders.files,
    node: options.node,
    exits: undefined,
    routerUrl: options.routerUrl,
    agentServer: options.agentServer,
    path: [...deps, ...options.binFolders, system].join(':'),
    runtime: 'process',
    port: 7001,
  };
}

/** A shim that is killed takes the agent with it, as a sandbox would. */
function tieToParent(plain: Launch, setpriv: string | undefined): Launch {
  if (setpriv === undefined) return plain;
  return {
    ...plain,
    file: setpriv,
    arguments: ['--pdeathsig', 'KILL', '--', plain.file, ...plain.arguments],
  };
}

function launch(run: SandboxRun): Launch {
  const server = [run.view.agentServer];
  const config = ['--config-fd', String(descriptors.config)];
  const isInstall = run.kind === 'install';
  return {
    file: run.view.node,
    arguments: isInstall
      ? [...server, 'exec', ...config, '--', ...run.command]
      : [...server, ...config, '--listen-fd', String(descriptors.listener)],
    environment: run.environment,
    cwd: isInstall ? (run.folders.deps ?? '/') : run.view.code,
    descriptors: isInstall
      ? [{ type: 'data', text: run.config }]
      : [{ type: 'data', text: run.config }, { type: 'listener' }],
  };
}
