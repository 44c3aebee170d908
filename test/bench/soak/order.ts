/** What the soak's load program is told, one order at a time. */
export type SoakLoadOrder =
  | { readonly type: 'connect'; readonly port: number; readonly connections: number }
  /** Opens sessions, at the paths in turn, each with a first call; every so many hold a stream open. */
  | {
      readonly type: 'open';
      readonly sessions: number;
      readonly paths: readonly string[];
      readonly streamEvery: number;
    }
  /** Calls in every open session, so often. */
  | { readonly type: 'call'; readonly each: number }
  /** Ends every second session and leaves the others. */
  | { readonly type: 'end' }
  | { readonly type: 'disconnect' };

export interface SoakLoadDone {
  readonly done: number;
  readonly seconds: number;
  readonly failed: number;
  /** The first ones. */
  readonly failures: readonly string[];
}

export type FromSoakLoad = { readonly outcome: SoakLoadDone } | { readonly error: string };
