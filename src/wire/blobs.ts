/** Where an agent-server has its blobs: `/blobs`, and `/blobs/<id>`. */
export const blobsPath = '/blobs';

/** Replicas have workspaces of their own, up to this many; the last value says that there is but one. */
const noSlot = 0xffff;

/**
 * The id of a blob: 48 hex digits in lower case, of which 44 are random and the last four say which replica has it, so
 * that any router finds it. `random` has 22 bytes.
 */
export function blobId(random: Buffer, slot: number | undefined): string {
  const place = slot === undefined || slot >= noSlot ? noSlot : slot;
  return random.toString('hex') + place.toString(16).padStart(4, '0');
}

export function isBlobId(text: string): boolean {
  return /^[0-9a-f]{48}$/.test(text);
}

/** Undefined where any instance of the agent has it. */
export function slotOfBlob(id: string): number | undefined {
  const slot = Number.parseInt(id.slice(-4), 16);
  return slot === noSlot || Number.isNaN(slot) ? undefined : slot;
}

/** The URI under which clients of MCP read a blob of an agent. */
export function blobUri(agent: string, id: string): string {
  return `ploinky://${agent}/blobs/${id}`;
}

/** The id of a blob that a URI, or a path below the workspace, names; undefined for any other text. */
export function blobIn(
  text: string,
): { readonly agent: string | undefined; readonly id: string } | undefined {
  const match = /^(?:ploinky:\/\/([a-z0-9-]+)\/)?blobs\/([0-9a-f]{48})$/.exec(text);
  return match?.[2] === undefined ? undefined : { agent: match[1], id: match[2] };
}

/**
 * Which replica has the first blob of the agent that a text names, `blobs/<id>`; undefined where it names none, or any
 * instance has it. URIs of other agents' blobs count for nothing. Almost every text names none, which costs next to
 * nothing.
 */
export function slotNamedIn(text: string, agent: string): number | undefined {
  if (!text.includes('blobs/')) return undefined;
  for (const [, owner, id = ''] of text.matchAll(namedBlob))
    if (owner === undefined || owner === agent) return slotOfBlob(id);
  return undefined;
}

const namedBlob = /(?:ploinky:\/\/([a-z0-9-]+)\/)?blobs\/([0-9a-f]{48})(?![0-9a-f])/g;

/** What is told of a blob (Ploinky contract, §7, and more). */
export interface BlobInfo {
  readonly id: string;
  readonly mime: string;
  /** Bytes. */
  readonly size: number;
  /** RFC 3339. */
  readonly createdAt: string;
  readonly agent: string;
  readonly filename: string | null;
  /** Below the agent's workspace. */
  readonly localPath: string;
  /** Hex. */
  readonly sha256: string;
  /** RFC 3339; absent: it stays until it is deleted. */
  readonly expiresAt?: string;
}
