import { CodedError, messageOf } from '#kit/errors.ts';
import { ApiError, TransportError } from '#kube/errors.ts';
import { type ExitCode, exitCodes } from './exit-codes.ts';

/** A failure that a command reports itself. */
export class CliError extends CodedError {
  readonly exitCode: ExitCode;

  constructor(exitCode: ExitCode, message: string, remedy?: string) {
    super(`Exit${exitCode}`, message, remedy === undefined ? {} : { remedy });
    this.exitCode = exitCode;
  }
}

const codesOfErrors: Readonly<Record<string, ExitCode>> = {
  NotRunning: exitCodes.notRunning,
  ConnectFailed: exitCodes.notRunning,
  DeadlineExceeded: exitCodes.timedOut,
  StopTimedOut: exitCodes.timedOut,
};

/** The exit code for anything that was thrown. */
export function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof CliError) return error.exitCode;
  if (error instanceof ApiError) return exitCodeOfStatus(error.status);
  if (error instanceof CodedError) return codesOfErrors[error.code] ?? exitCodes.failed;
  return exitCodes.failed;
}

function exitCodeOfStatus(status: number): ExitCode {
  if (status === 404) return exitCodes.notFound;
  if (status === 504) return exitCodes.timedOut;
  if (status === 429) return exitCodes.failed;
  return status >= 400 && status < 500 ? exitCodes.refused : exitCodes.failed;
}

/** What to print for anything that was thrown: the message, each field at fault, what to do. */
export function describeError(error: unknown): string {
  const lines = [messageOf(error)];
  if (error instanceof ApiError) lines.push(...causesOf(error));
  const remedy = remedyOf(error);
  if (remedy !== undefined) lines.push(remedy);
  return lines.join('\n  ');
}

/** The API's message names the causes already when there is one; several get a line each. */
function causesOf(error: ApiError): string[] {
  const causes = error.details?.causes ?? [];
  if (causes.length < 2) return [];
  return causes.map(({ field, message }) => (field ? `${field}: ${message ?? ''}` : (message ?? '')));
}

function remedyOf(error: unknown): string | undefined {
  if (error instanceof TransportError && error.code === 'ConnectFailed') {
    return 'Is the workspace up? `ploinky status` tells, `ploinky up` starts it.';
  }
  return error instanceof CodedError ? error.remedy : undefined;
}
