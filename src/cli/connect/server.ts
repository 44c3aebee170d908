/** What a client is told of an MCP server: an address, or a program to start. */
export type Server = HttpServer | StdioServer;

export interface HttpServer {
  readonly kind: 'http';
  readonly url: string;
}

export interface StdioServer {
  readonly kind: 'stdio';
  /** An absolute path: programs with windows have another PATH than shells. */
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

export type Entry = Readonly<Record<string, unknown>>;

/** Members of an entry that say how the server is reached; all others are the person's own. */
export const transportKeys = ['type', 'url', 'httpUrl', 'command', 'args', 'env'] as const;

/** An entry with another way to the server and everything else that was in it. */
export function mergeEntry(earlier: unknown, entry: Entry): Entry {
  if (typeof earlier !== 'object' || earlier === null || Array.isArray(earlier)) return entry;
  const kept = Object.entries(earlier).filter(([key]) => !(transportKeys as readonly string[]).includes(key));
  return { ...entry, ...Object.fromEntries(kept) };
}

/** A command as a shell takes it. */
export function shellCommand(words: readonly string[]): string {
  return words
    .map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`))
    .join(' ');
}
