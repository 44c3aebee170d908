import type { Readable, Writable } from 'node:stream';
import type { Clock } from '#kit/clock.ts';
import type { Client } from '#kube/client.ts';
import type { PodPort, PortForward } from '#kube/port-forward.ts';
import type { Prompter } from './prompter.ts';
import type { KeptSecrets } from './secrets/home.ts';
import type { Terminal } from './terminal.ts';

/** All that a command can reach. Built by src/main; tests build their own. */
export interface Cli {
  readonly terminal: Terminal;
  readonly clock: Clock;
  readonly version: string;
  /** Aborted by Ctrl-C. */
  readonly interrupted: AbortSignal;
  /** How it was called: as a plugin of kubectl it means the current cluster unless it is told otherwise. */
  readonly calledAs: 'ploinky' | 'kubectl ploinky';
  /** The workspace in a folder; throws when the folder does not exist. */
  openWorkspace(folder: string): Promise<Workspace>;
  /** The cluster of a kubeconfig's context; the caller closes it. Asks nothing of it yet. */
  openCluster(request: ClusterRequest): Promise<Cluster>;
  /** Runs the `helm` on PATH with this program's output and returns its exit code. */
  runHelm(args: readonly string[]): Promise<number>;
  /** The chart that belongs to this version. */
  findChart(): Promise<string>;
  /** What `doctor` looks at. */
  readonly checks: readonly Check[];
  readStdin(): Promise<string>;
  /** What an import of secrets takes of a `.env` file, in the form in which it is stored. */
  parseEnvFile(text: string): {
    readonly secrets: Readonly<Record<string, string>>;
    /** Names that no secret can have. */
    readonly wrong: readonly string[];
  };
  /** The standard streams themselves, for a verb that speaks a protocol on them. */
  readonly streams: { readonly input: Readable; readonly output: Writable };
  /** Asks the person who watches. Undefined: nobody does. */
  readonly prompter: Prompter | undefined;
  /** How other programs start this one: an absolute path, then arguments. */
  readonly program: readonly string[];
  readonly machine: Machine;
}

/** Where the programs of the person who calls keep their files. */
export interface Machine {
  /** As Node names them: linux, darwin, win32. */
  readonly platform: string;
  readonly home: string;
  /** The present folder. */
  readonly folder: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface ClusterRequest {
  /** Path; default as kubectl: $KUBECONFIG, then ~/.kube/config. */
  readonly kubeconfig?: string | undefined;
  /** Default: the file's current one. */
  readonly context?: string | undefined;
}

/** What the commands need of a cluster. */
export interface Cluster {
  readonly context: string;
  /** URL of its API. */
  readonly server: string;
  /** Of the context. */
  readonly namespace: string;
  readonly client: Client;
  /** A listener on the loopback that leads to the first pod that answers; the caller closes it. */
  forward(pods: () => Promise<readonly PodPort[]>): Promise<PortForward>;
  close(): Promise<void>;
}

/** What the commands need of a workspace. */
export interface Workspace {
  readonly root: string;
  readonly kubeconfig: string;
  readonly logs: string;
  agentLog(name: string): string;
  /** Makes the folders. False: they were there. */
  init(): Promise<boolean>;
  /** Undefined: not up. */
  running(): Promise<RunningWorkspace | undefined>;
  /** Of one that is not up: whether it was ended on purpose. False: its watchdog was killed. */
  wasStopped(): Promise<boolean>;
  /** Starts the processes. `progress` hears what takes long. */
  start(options: StartRequest): Promise<StartedWorkspace>;
  stop(): Promise<'stopped' | 'tidied' | 'nothing'>;
  /** A client of its API; the caller closes it. */
  openClient(): Client;
  /** Its own secrets, whether it is up or not. */
  openSecrets(): Promise<WorkspaceSecrets>;
}

/** Of a workspace; every method throws when the file cannot be decrypted. */
export interface WorkspaceSecrets {
  /** Of the file. */
  readonly path: string;
  read(): Promise<KeptSecrets>;
  change(
    edit: (kept: KeptSecrets) => KeptSecrets,
    options?: { readonly anew?: string | undefined },
  ): Promise<void>;
  rekey(): Promise<void>;
}

export interface RunningWorkspace {
  readonly pid: number;
  readonly url: string;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
}

export interface StartRequest {
  readonly port?: number | undefined;
  /** Further flags of the router, each `--name=value`. */
  readonly routerFlags?: readonly string[];
  readonly progress: (message: string) => void;
}

export interface StartedWorkspace {
  readonly pid: number;
  readonly url: string;
  /** Resolves when its API and router answer. */
  readonly ready: Promise<void>;
}

/** One line of `ploinky doctor`. */
export interface Check {
  readonly name: string;
  run(root: string): Promise<CheckResult>;
}

export interface CheckResult {
  readonly level: 'ok' | 'warn' | 'fail';
  readonly detail: string;
  /** What to do; for warn and fail. */
  readonly remedy?: string;
}
