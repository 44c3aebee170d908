/** What one attack came to. `absent`: it cannot even be tried, and why. */
export interface Finding {
  readonly verdict: 'works' | 'stopped' | 'absent';
  /** In a word, the same every time: an errno or what was achieved. */
  readonly detail: string;
}

/** A group's findings by the name of the attack, in the order in which they are told. */
export type Findings = ReadonlyMap<string, Finding>;

/** Where an attack stands: what the same things are called there. */
export interface Paths {
  /** A folder that it may write. */
  readonly scratch: string;
  /** The project that it was given. */
  readonly project: string;
}

export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A command line, with files that it expects as descriptors 3, 4, … */
export interface Line {
  readonly command: readonly [string, ...string[]];
  readonly files: readonly number[];
  readonly env: Readonly<Record<string, string | undefined>>;
  close(): void;
}

/** One way to run what is not trusted, or none at all. */
export interface Substrate {
  readonly name: 'ours' | 'peer' | 'none';
  readonly paths: Paths;
  /** The command line that runs `command` there. */
  line(command: readonly string[]): Promise<Line>;
  close(): Promise<void>;
}

/** Attacks that one probe makes, under the number they have among the security goals. */
export interface AttackGroup {
  readonly id: string;
  readonly title: string;
  run(substrate: Substrate, target: Target): Promise<Findings>;
}

/** What the attacks are after: made by the harness outside of all sandboxes. */
export interface Target {
  /** Holds a word that nobody inside may read. */
  readonly canary: string;
  readonly word: string;
  readonly other: string;
  readonly key: string;
  /** Of a process of the host that has the word in its environment. */
  readonly pid: number;
  readonly home: string;
  /** The project's folder on the host. */
  readonly project: string;
  /** The folder on the host that all agents of ours write. */
  readonly shared: string;
  /** A folder for what a group prepares by itself. */
  readonly folder: string;
  /** A descriptor of this process that is open on the canary. */
  readonly descriptor: number;
  readonly network: {
    readonly port: number;
    readonly hostPort: number;
    readonly abstract: string;
    readonly unix: string;
    readonly dns: string;
    readonly dnsPort: number;
    readonly hosts: Readonly<Record<string, string>>;
  };
}
