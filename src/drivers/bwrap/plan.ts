/**
 * One bwrap sandbox as data. What it leaves out does not exist inside: no host folder, no network, no
 * environment, no capability.
 */
export interface SandboxPlan {
  readonly hostname: string;
  readonly user: SandboxUser;
  /** In this order; a later mount hides an earlier one. */
  readonly mounts: readonly Mount[];
  readonly environment: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly command: readonly string[];
}

export type SandboxUser =
  /** An ordinary user starts it: a user namespace of its own, in which no further one can be made. */
  | { readonly mode: 'namespace'; readonly uid: number; readonly gid: number }
  /**
   * Root starts it: sources are opened and mounted as root, then `setpriv` gives up everything for an
   * unprivileged user before the first instruction of ours runs.
   */
  | { readonly mode: 'switch'; readonly uid: number; readonly gid: number; readonly setpriv: string };

export type Mount =
  | {
      readonly type: 'bind';
      readonly source: string;
      readonly target: string;
      readonly writable: boolean;
      /** Left out when the source does not exist. */
      readonly optional?: boolean;
    }
  /** An empty folder in memory. `readOnly`: a mask that hides what is below it. */
  | {
      readonly type: 'tmpfs';
      readonly target: string;
      readonly sizeBytes: number;
      readonly readOnly: boolean;
    }
  | { readonly type: 'symlink'; readonly target: string; readonly to: string }
  | { readonly type: 'folder'; readonly target: string }
  | { readonly type: 'proc'; readonly target: string }
  | { readonly type: 'devices'; readonly target: string };

/** Which descriptors the started bwrap finds its inputs at. */
export interface BwrapDescriptors {
  /** NUL-separated options, so that none shows in a process list. */
  readonly options: number;
  /** A BPF program. */
  readonly seccomp: number;
  readonly info: number;
}
