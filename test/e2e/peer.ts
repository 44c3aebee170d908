// The face of clients by others, and what they give made comparable.

export interface Peer {
  readonly name: string;
  /** What it has to settle on with the server. */
  readonly revision: string;
  /** Why it cannot run here; undefined: it can. */
  readonly missing: string | undefined;
  /** What it does not do, in words for a test's name; undefined: it does everything. */
  readonly cannot?: string;
  connect(url: string): Promise<PeerSession>;
}

export interface PeerSession {
  /** What was settled on; undefined where the client does not tell. */
  readonly revision: string | undefined;
  /** One of tools/list, resources/list, prompts/list: the names or URIs. */
  list(kind: ListKind): Promise<string[]>;
  call(name: string, args?: Args): Promise<ToolResult>;
  read(uri: string): Promise<unknown>;
  prompt(name: string, args: Readonly<Record<string, string>>): Promise<unknown>;
  /** A call with progress; undefined where the client cannot show it. */
  progress?(name: string): Promise<number[]>;
  /** A call of a tool that asks, where that is done in another way than other calls. */
  callAsking?(name: string, args?: Args): Promise<ToolResult>;
  close(): Promise<void>;
}

export type Args = Readonly<Record<string, string | number>>;

/** What every client answers to every question of the server. */
export const answer = {
  action: 'accept',
  content: { username: 'Ana', email: 'ana@example.com', name: 'Ana' },
} as const;
export type ListKind = 'tools' | 'resources' | 'prompts';

export interface ToolResult {
  readonly content: unknown;
  readonly isError: boolean;
}

export function namesIn(kind: ListKind, result: object): string[] {
  const items = (result as Record<string, { name: string; uri: string }[]>)[kind] ?? [];
  return items.map(({ name, uri }) => (kind === 'resources' ? uri : name));
}

export function toolResult(result: object): ToolResult {
  const { content, isError = false } = result as { content?: unknown; isError?: boolean };
  return { content, isError };
}
