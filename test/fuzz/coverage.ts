import { type Profiler, Session } from 'node:inspector/promises';

/** Which parts of the sources have been run, in this thread. */
export interface Coverage {
  /** Whether parts were run since the last question that never were before. */
  isNew(): Promise<boolean>;
  close(): void;
}

export async function createCoverage(): Promise<Coverage> {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: false, detailed: true });
  const seen = new Set<string>();
  return {
    async isNew() {
      const { result } = await session.post('Profiler.takePreciseCoverage');
      const before = seen.size;
      for (const script of result) if (script.url.includes('/src/')) note(script, seen);
      return seen.size > before;
    },
    close: () => session.disconnect(),
  };
}

function note({ url, functions }: Profiler.ScriptCoverage, seen: Set<string>): void {
  for (const { ranges } of functions)
    for (const { startOffset, endOffset, count } of ranges)
      seen.add(`${url}:${startOffset}-${endOffset}:${count > 0}`);
}
