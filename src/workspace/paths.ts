import { join } from 'node:path';
import { sha256Hex } from '#kit/digest.ts';

/** What of the machine decides where a workspace keeps its sockets. */
export interface HostFacts {
  readonly uid: number;
  /** `XDG_RUNTIME_DIR`, when set. */
  readonly xdgRuntimeDir: string | undefined;
  /** `os.tmpdir()`. */
  readonly tmpdir: string;
}

/** Every place a workspace uses. Absolute paths; nothing is created or checked here. */
export interface WorkspacePaths {
  readonly root: string;
  /** `<root>/.ploinky`, 0700: everything that outlives the processes. */
  readonly state: string;
  /** For kubectl: the embedded API over TLS on the loopback, with a token. */
  readonly kubeconfig: string;
  readonly apiserverData: string;
  /** The workspace's secrets, encrypted, and the master key that encrypts them. */
  readonly secrets: string;
  readonly masterKey: string;
  readonly logs: string;
  readonly agentLog: (name: string) => string;
  /** The agent's own workspace volume. */
  readonly agents: (name: string) => string;
  readonly agentsRoot: string;
  readonly shared: string;
  readonly deps: string;
  /** Records of what runs: the workspace's lock, `router.pid`, the restart history. */
  readonly running: string;
  /** Short folder (0700) for sockets: a Unix socket's path may have 107 bytes, a workspace's path has more. */
  readonly runtime: string;
  readonly apiSocket: string;
  readonly routerSocket: string;
  readonly egressSocket: string;
  /** Health and metrics of the controller. */
  readonly controllerSocket: string;
  /** One folder or record per running sandbox. */
  readonly workloads: string;
  /** Renewed by the watchdog; see lease.ts. */
  readonly lease: string;
  /** Name of the control group that holds the groups of its sandboxes. */
  readonly controlGroup: string;
}

/** Longest base for the runtime folder that leaves room for a workload's socket below it. */
const longestRuntimeBase = 40;

/**
 * The places of the workspace at `root`, which is absolute and free of symbolic links (two names of one
 * folder would be two workspaces). Pure: the same arguments give the same paths.
 */
export function workspacePaths(root: string, host: HostFacts): WorkspacePaths {
  const state = join(root, '.ploinky');
  const id = sha256Hex(root).slice(0, 8);
  const runtime = join(runtimeBase(host), `ploinky-${host.uid}`, id);
  return {
    root,
    state,
    kubeconfig: join(state, 'kubeconfig'),
    apiserverData: join(state, 'apiserver'),
    secrets: join(state, '.secrets'),
    masterKey: join(state, 'master.key'),
    logs: join(state, 'logs'),
    agentLog: (name) => join(state, 'logs', 'agents', `${name}.log`),
    agents: (name) => join(state, 'agents', name),
    agentsRoot: join(state, 'agents'),
    shared: join(state, 'shared'),
    deps: join(state, 'deps'),
    running: join(state, 'running'),
    runtime,
    apiSocket: join(runtime, 'api.sock'),
    routerSocket: join(runtime, 'router.sock'),
    egressSocket: join(runtime, 'egress.sock'),
    controllerSocket: join(runtime, 'controller.sock'),
    workloads: join(runtime, 'w'),
    lease: join(runtime, 'lease'),
    controlGroup: `ploinky-${id}`,
  };
}

/** The first of XDG_RUNTIME_DIR, the temporary folder and /tmp that is short enough. */
function runtimeBase(host: HostFacts): string {
  const candidates = [host.xdgRuntimeDir, host.tmpdir];
  const fits = (path: string | undefined) =>
    path?.startsWith('/') === true && Buffer.byteLength(path) <= longestRuntimeBase;
  return candidates.find(fits) ?? '/tmp';
}
