import type { Lease, Outcome } from '../queue/queue.ts';
import type { Progress } from '../source.ts';

/** What tasks are executions of: commands of a configuration, or the tools of an MCP server. */
export interface TaskTools {
  /** Throws RpcError `invalidParams` for a tool that is not there and for input that it does not take. */
  admit(tool: string, input: Record<string, unknown>): AdmittedCall;
  /** Tasks of the tool that may run at once. Default: as many as there are places. */
  limitOf?(tool: string): number | undefined;
  /** Whether the tool is there; tasks of one that is not wait for it, for a while. Default: it is. */
  knows?(tool: string): boolean;
  /**
   * One attempt of a task, with the tool as it is now. Resolves when nothing of it runs any more; rejects when the
   * lease's signal aborts, then too after everything has ended. `lost`: it went down with its process.
   */
  execute(lease: Lease, hooks: TaskHooks): Promise<Outcome | 'lost'>;
}

export interface AdmittedCall {
  /** Without what the tool does not know. */
  readonly input: Record<string, unknown>;
  /** The tool's own limits. */
  readonly timeoutMs?: number | undefined;
  readonly retries?: number | undefined;
}

/** What is told of an attempt while it runs. */
export interface TaskHooks {
  /** For the task's log. */
  onOutput(bytes: Uint8Array): void;
  onProgress(progress: Progress): void;
}
