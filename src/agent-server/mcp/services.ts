import type { Clock } from '#kit/clock.ts';
import type { Settings } from '../config/settings.ts';
import type { Source } from '../source.ts';
import type { KeptStreams } from '../streams/kept-streams.ts';
import type { Guard } from './guard.ts';
import type { Subscriptions } from './listen.ts';
import type { Listing } from './listing.ts';
import type { Sessions } from './sessions.ts';

/** What the MCP endpoint needs of the rest of the agent-server. */
export interface McpServices {
  readonly source: Source;
  /** Of the source's catalog as it is now. */
  listing(): Listing;
  readonly guard: Guard;
  readonly sessions: Sessions;
  readonly subscriptions: Subscriptions;
  readonly streams: KeptStreams;
  readonly settings: Settings;
  readonly clock: Clock;
}
