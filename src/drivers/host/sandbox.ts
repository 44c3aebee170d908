import type { Availability } from '../driver.ts';
import type { WorkloadView } from '../shared/environment.ts';
import type { Workload } from '../workload.ts';
import type { Launch } from './shim-plan.ts';

/**
 * One way of running commands on this host. The host driver does everything else: folders, shims, records,
 * installs, limits, adoption.
 */
export interface Sandbox {
  readonly name: 'bwrap' | 'seatbelt' | 'process';
  available(): Promise<Availability>;
  /** The user that a run of `subject` gets, or undefined when it is the one that starts it. */
  userOf(subject: string): { readonly uid: number; readonly gid: number } | undefined;
  /** Folders and addresses as the agent sees them. */
  view(folders: RunFolders): AgentView;
  /** The command line that starts `run` in a new sandbox. Throws a TerminalError for a run it must refuse. */
  launch(run: SandboxRun): Launch;
}

/** Host paths of one run. */
export interface RunFolders {
  readonly code: string | undefined;
  readonly codeWritable: boolean;
  /** What the install step left, or (while it runs) fills. */
  readonly deps: string | undefined;
  readonly workspace: string | undefined;
  readonly shared: string | undefined;
  /** Sockets that lead out: `router.sock`, `egress.sock`. */
  readonly sockets: string;
  /** Private folder of the driver for this run's own small files (`/etc/passwd` and the like). */
  readonly files: string;
  /** Download cache of an install step. */
  readonly cache: string | undefined;
}

export interface AgentView extends WorkloadView {
  readonly node: string;
  readonly agentServer: string;
}

export interface SandboxRun {
  readonly kind: 'agent' | 'install';
  readonly workload: Workload;
  readonly view: AgentView;
  readonly folders: RunFolders;
  readonly user: { readonly uid: number; readonly gid: number } | undefined;
  /** Environment of the first process. */
  readonly environment: Readonly<Record<string, string>>;
  /** AgentServerConfig as JSON; secret. */
  readonly config: string;
  /** For `install`: what agent-server's `exec` mode runs. */
  readonly command: readonly string[];
}
