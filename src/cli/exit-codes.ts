/** What `ploinky` exits with. Scripts rely on these numbers. */
export const exitCodes = {
  ok: 0,
  /** Something failed that is none of the following. */
  failed: 1,
  /** The command line is wrong. */
  usage: 2,
  /** The workspace is not up, the cluster does not answer, or Ploinky is not in it. */
  notRunning: 3,
  /** No such object, tool or agent. */
  notFound: 4,
  /** The API refused the object: a wrong field, a conflict. */
  refused: 5,
  /** What was waited for did not happen in time. */
  timedOut: 6,
  /** The tool was called and answered with an error, or a task did not succeed. */
  toolFailed: 7,
  /** Ctrl-C. */
  interrupted: 130,
} as const;
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

export const exitCodeHelp = `Exit codes:
  0 done                      4 no such object, tool or agent
  1 failed                    5 refused by the API (wrong field, conflict, no right)
  2 wrong command line        6 not in time
  3 workspace not up, or      7 the tool or task failed
    cluster or router away  130 Ctrl-C`;
