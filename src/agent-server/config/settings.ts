const mebibyte = 1024 * 1024;

/** Every limit of an agent-server with its default. `limits` of its configuration replaces them by name. */
export const defaultSettings = {
  /** Bytes of a request body on /mcp. */
  maxBodyBytes: 10 * mebibyte,
  /** Levels of nesting of a request body. */
  maxDepth: 64,
  /** Members of objects and items of lists in a request body, all together. */
  maxMembers: 100_000,
  /** Milliseconds that the check of a tool's arguments may take. */
  maxValidationMs: 250,
  /** Messages in one JSON-RPC batch. */
  maxBatch: 50,
  /** Bytes of a tool's stdout; a call that writes more is killed and fails. */
  maxOutputBytes: 10 * mebibyte,
  /** Bytes of a tool's stderr that are kept; the rest is dropped. */
  maxErrorOutputBytes: mebibyte,
  /** Bytes of one line on a tool's fd 3. */
  maxEventBytes: mebibyte,
  /** Milliseconds a tool without `timeoutMs` may run. Ten minutes, as the router's own limit. */
  toolTimeoutMs: 600_000,
  /** Milliseconds between SIGTERM and SIGKILL. */
  killGraceMs: 1500,
  /** Executions at once, when neither the configuration file nor the Agent says. */
  maxParallelTasks: 10,
  /** Executions that wait; more are refused. */
  maxQueuedCalls: 10_000,
  /** Bytes of the arguments of tasks that wait; more are refused. */
  maxQueuedBytes: 256 * mebibyte,
  /** Bytes of an async task's log that are kept. */
  taskLogTailBytes: 131_072,
  /** Milliseconds for which a durable task waits for answers to what it asks: a week. */
  taskAnswerMs: 604_800_000,
  /** Milliseconds that clients are told to wait between two looks at a task. */
  taskPollMs: 1000,
  /**
   * Finished tasks that are remembered, and as many of those that came with a key (Task resources); of the latter none
   * is forgotten by number on its first day.
   */
  maxFinishedTasks: 1000,
  /** Bytes of them: arguments, results and logs. */
  maxFinishedBytes: 256 * mebibyte,
  /** Milliseconds for which they are remembered. */
  taskRetentionMs: 7 * 24 * 3_600_000,
  /** Tasks that clients began and that are told to the controller, so that they are Task resources too; 0: none. */
  maxTrackedTasks: 0,
  /** MCP sessions at once; the longest unused one without a stream makes room. */
  maxSessions: 10_000,
  /** Milliseconds until an unused session ends. */
  sessionIdleMs: 3_600_000,
  /** Open event streams (session streams and subscriptions). */
  maxStreams: 1024,
  /** Bytes that may wait for one reader of the agent-server's changes; one that leaves more unread is cut off. */
  maxUnreadChangesBytes: 16 * mebibyte,
  /** Milliseconds of silence after which an answer becomes an event stream with keep-alive comments. */
  keepAliveMs: 15_000,
  /** Milliseconds after which the answer to a client of 2025-11-25 becomes a stream that it can take up again. */
  streamAfterMs: 2000,
  /** Milliseconds that clients are told to wait before they take a stream up again. */
  streamRetryMs: 1000,
  /** Milliseconds for which a stream that nobody reads is kept, from its last reader or its end on. */
  resumeMs: 300_000,
  /** Events of one stream that are kept for clients that come back; the oldest are forgotten. */
  maxStreamEvents: 1000,
  /** Bytes of them. */
  maxStreamBytes: mebibyte,
  /** Of a session's own stream, beside those of its calls. */
  maxOwnStreamBytes: 16 * 1024,
  /** Of all streams of one user; streams that are over are forgotten first, then the events of the oldest. */
  maxStreamBytesPerUser: 4 * mebibyte,
  /** Of all streams. */
  maxStreamBytesInAll: 16 * mebibyte,
  /** Milliseconds an upstream may take for its handshake. */
  upstreamStartMs: 60_000,
  /** Milliseconds an upstream may take for one request. */
  upstreamTimeoutMs: 600_000,
  /** Milliseconds between two looks whether a remote upstream still serves. */
  upstreamProbeMs: 60_000,
  /** Bytes of one message of an upstream. */
  maxUpstreamMessageBytes: 64 * mebibyte,
  /** Levels of nesting of one message of an upstream. */
  maxUpstreamDepth: 256,
  /** Interim answers (1xx) of an upstream to one request. */
  maxInterimAnswers: 32,
  /** Upstream sessions of single clients; the longest unused one makes room. */
  maxUpstreamSessions: 1000,
  /** Milliseconds until an unused one ends. */
  upstreamSessionIdleMs: 3_600_000,
  /** Processes of a stdio upstream for single clients, beside the shared one; the longest unused one makes room. */
  maxUpstreamProcesses: 8,
  /** Milliseconds until an unused one ends. */
  upstreamProcessIdleMs: 300_000,
  /** Milliseconds after an upstream's first question in which others are gathered, for a client of 2026-07-28. */
  parkGatherMs: 15,
  /** Milliseconds that a call waits for its client to come back with answers. */
  parkTtlMs: 300_000,
  /** Calls that wait so, and as many tasks that ask their clients of 2026-07-28. */
  maxParkedCalls: 1000,
  /** Of one user; the oldest makes room. */
  maxParkedCallsPerUser: 20,
  /** Tasks of an upstream whose beginning is remembered: older ones are missing from tasks/list, but can be asked for. */
  maxKnownTasks: 10_000,
  /** How often an upstream of 2026-07-28 may ask a client with sessions during one call. */
  maxInputRounds: 8,
  /** Milliseconds without a byte after which an upload of a blob has broken off. */
  blobIdleMs: 60_000,
  /** Milliseconds between two looks for blobs that have expired. */
  blobSweepMs: 60_000,
  /** Bytes that uploads to a bucket hold in memory together. */
  blobBufferBytes: 192 * mebibyte,
  /** Bytes of the copies of a bucket's blobs in the workspace, for calls that name them. */
  blobCopyBytes: 10 * 1024 * mebibyte,
  /** Milliseconds between two looks at the configuration file. */
  configPollMs: 1000,
  /** Bytes of a configuration file. */
  maxConfigBytes: 4 * mebibyte,
  /** Milliseconds in which calls are still taken after a request to stop, until no router sends any more. */
  drainDelayMs: 0,
  /** Milliseconds that calls and tasks may run after that; tasks that wait are left for the next start. */
  drainMs: 5000,
  /** Milliseconds without any use after which the agent-server says that it is idle and may be replaced by a newer one. */
  idleAfterMs: 300_000,
} as const;

export type Settings = { readonly [Name in keyof typeof defaultSettings]: number };

/** Where routers of other machines send calls, it takes them a while to hear that this one stops. */
export const podSettings: Partial<Settings> = { drainDelayMs: 3000, drainMs: 55_000 };

/** Defaults overlaid with the numbers of `limits`; names that are not settings are ignored. */
export function readSettings(
  limits: Readonly<Record<string, number>>,
  defaults: Partial<Settings> = {},
): Settings {
  const settings: Record<string, number> = { ...defaultSettings, ...defaults };
  for (const name of Object.keys(defaultSettings)) {
    const value = limits[name];
    if (value !== undefined && Number.isFinite(value) && value >= 0) settings[name] = value;
  }
  return settings as Settings;
}
