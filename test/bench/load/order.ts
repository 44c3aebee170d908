import type { AgentIdentity } from '#wire/keys.ts';

/** Whom to call and how; sent to the load program once. */
export interface LoadTarget {
  readonly address: { readonly path: string } | { readonly host: string; readonly port: number };
  /** HTTP path. */
  readonly url: string;
  /** `sessions`: initialize first, a session a connection (2025-11-25). `stateless`: 2026-07-28. `none`: bare calls. */
  readonly era: 'sessions' | 'stateless' | 'none';
  readonly method: 'tools/call' | 'prompts/get';
  /** Tool or prompt. It gets one argument, `text`, which must come back in the answer. */
  readonly name: string;
  /** Mints a wire token for every call, as a router does. */
  readonly token?: {
    readonly secret: string;
    readonly kid: string;
    readonly agent: AgentIdentity;
    readonly instance: string;
  };
  /** All connections speak in the session of the first one. Default: a session each. */
  readonly sharedSession?: boolean;
  /** Most connections that a run will use. */
  readonly connections: number;
}

export interface LoadRun {
  readonly connections: number;
  readonly ms: number;
  /** Ends earlier after this many calls. */
  readonly calls?: number;
}

export interface LoadOutcome {
  readonly calls: number;
  readonly seconds: number;
  readonly callsPerSecond: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
  /** CPU of the load program itself, in microseconds a call. */
  readonly ownMicros: number;
}

export type ToLoad =
  | { readonly type: 'open'; readonly id: number; readonly target: LoadTarget }
  | { readonly type: 'run'; readonly id: number; readonly target: number; readonly run: LoadRun };

export type FromLoad = { readonly id: number } & (
  | { readonly error: string }
  | { readonly outcome: LoadOutcome | null }
);
