/**
 * An error with a code from a closed table, a sentence for people and, where it helps, what to do.
 * Local errors only: what goes over a wire has its own family (JSON-RPC errors, Kubernetes Status).
 */
export class CodedError extends Error {
  readonly code: string;
  /** What the reader can do about it, as a sentence. */
  readonly remedy: string | undefined;

  constructor(code: string, message: string, options: { cause?: unknown; remedy?: string } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'CodedError';
    this.code = code;
    this.remedy = options.remedy;
  }
}

/** Trying again cannot help: logged and counted, never retried. Everything else backs off. */
export class TerminalError extends CodedError {
  override readonly name = 'TerminalError';
}

/** The message of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The `code` of anything that was thrown (`ENOENT`, a CodedError's), or undefined. */
export function codeOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}
