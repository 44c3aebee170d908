/** One way to keep tasks in a folder, so that all ways are asked the same. */
export interface Writer {
  /** Resolves, or returns, when the task is on disk. */
  add(number: number): Promise<unknown> | unknown;
  close(): Promise<unknown> | unknown;
}

export type OpenWriter = (folder: string) => Promise<Writer> | Writer;

export type WriterName = 'durable' | 'plain' | 'flushes' | 'plainjob' | 'liteque';

/** What a call of a tool with some arguments takes, as JSON about 250 bytes. */
export function payloadOf(number: number): Record<string, unknown> {
  return {
    input: {
      text: 'what an agent was asked to do, in a sentence or two of its user',
      number,
      verbose: false,
    },
    session: '6f1c7d52-8a54-4a4c-9d53-0c8e9a4f7b1e',
    requestId: number,
    claims: { sub: 'user:0123456789', agent: 'agent:default/worker' },
  };
}
