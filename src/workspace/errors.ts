/** Codes of the errors that src/workspace throws (CodedError.code). */
export const workspaceErrors = {
  /** A folder belongs to somebody else or is no folder. */
  FolderRefused: 'FolderRefused',
  /** The workspace's root does not exist or is no folder. */
  RootMissing: 'RootMissing',
  /** Another watchdog holds this workspace. */
  AlreadyRunning: 'AlreadyRunning',
  /** Nothing holds this workspace, though the request needs something that runs. */
  NotRunning: 'NotRunning',
  /** The asked port, or every port of the range, is taken. */
  PortTaken: 'PortTaken',
  /** The watchdog ended before the workspace was up. */
  StartFailed: 'StartFailed',
  /** The watchdog did not end in time. */
  StopTimedOut: 'StopTimedOut',
  /** A seed that is too short, or a key file that is none or that others may read. */
  MasterKeyInvalid: 'MasterKeyInvalid',
  /** The workspace's secrets cannot be decrypted. */
  SecretsUnreadable: 'SecretsUnreadable',
  /** The workspace's secrets are in clear text: a file of an earlier Ploinky. */
  SecretsPlain: 'SecretsPlain',
  /** Another command changes the secrets. */
  SecretsBusy: 'SecretsBusy',
} as const;
