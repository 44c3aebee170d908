import type { Asked } from './ask.ts';
import { encodings } from './payloads.ts';

export interface Found {
  readonly requests: number;
  /** Encoding and path of what got something from outside. */
  readonly leaks: readonly string[];
  readonly hangs: readonly string[];
  /** By encoding. */
  readonly leaksOf: Readonly<Record<string, number>>;
}

/** Lines of /etc/passwd, which many of the lists ask for, are as good as the canary. */
const outside = /canary-7f3a|root:x:0:0:/;

/** Asks for each line in each encoding below each prefix; `every` takes only each so many-th. */
export async function tryAll(
  lines: readonly string[],
  prefixes: readonly string[],
  every: number,
  ask: (path: string) => Promise<Asked>,
): Promise<Found> {
  const paths: [string, string][] = [];
  for (const [encoding, encode] of Object.entries(encodings))
    for (const prefix of prefixes)
      for (const [index, line] of lines.entries())
        if ((index + paths.length) % every === 0 || every === 1)
          paths.push([encoding, prefix + encode(line)]);
  const leaks: string[] = [];
  const hangs: string[] = [];
  const leaksOf: Record<string, number> = {};
  let next = 0;
  async function work(): Promise<void> {
    for (let own = next++; own < paths.length; own = next++) {
      const [encoding, path] = paths[own] ?? ['', ''];
      const { text, hung } = await ask(path);
      if (hung) hangs.push(`${encoding}: ${path}`);
      if (!outside.test(text)) continue;
      leaks.push(`${encoding}: ${path}`);
      leaksOf[encoding] = (leaksOf[encoding] ?? 0) + 1;
    }
  }
  await Promise.all(Array.from({ length: 16 }, work));
  return { requests: paths.length, leaks, hangs, leaksOf };
}
