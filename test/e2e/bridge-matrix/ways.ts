/** A way through a bridge: a client of one revision, a server of another, and how the server is reached. */
export interface Way {
  readonly client: Revision;
  readonly server: Revision;
  readonly transport: 'http' | 'stdio';
}

export type Revision = '2025-11-25' | '2026-07-28';
const revisions: readonly Revision[] = ['2025-11-25', '2026-07-28'];

export const ways: readonly Way[] = revisions.flatMap((client) =>
  revisions.flatMap((server) =>
    (['http', 'stdio'] as const).map((transport) => ({ client, server, transport })),
  ),
);

/** `2025`, as the tables say. */
export const yearOf = (revision: Revision) => revision.slice(0, 4) as '2025' | '2026';

/** A name for agents, and for people. */
export function nameOf({ client, server, transport }: Way): string {
  return `from-${yearOf(client)}-to-${yearOf(server)}-${transport}`;
}

/**
 * What was found in one cell. A refusal, and a thing that cannot occur since the server's revision has none, name
 * the row of docs/bridging.md that says so.
 */
export type Outcome = 'passed' | `refused: ${string}` | `none: ${string}`;
