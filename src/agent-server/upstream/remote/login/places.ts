import { findTokenPlace, type TokenPlace } from '../discovery.ts';
import type { FlowOptions } from './flow.ts';

/** Where tokens for the remote server are had, found out once for all who ask within a minute. */
export interface Places {
  /** `metadata`: where the server said that its metadata are. Throws as discovery does. */
  find(metadata: string | undefined): Promise<TokenPlace>;
  /** The server may trust another authorization server by now. */
  forget(): void;
}

const keptMs = 60_000;
/** Addresses that the server named for its metadata; it names one. */
const mostFound = 8;

interface Found {
  readonly place: Promise<TokenPlace>;
  readonly until: number;
}

export function holdPlaces({ url, issuer, fetch, clock }: Omit<FlowOptions, 'secrets'>): Places {
  const found = new Map<string | undefined, Found>();
  return {
    find(metadata) {
      const known = found.get(metadata);
      if (known !== undefined && clock.monotonic() < known.until) return known.place;
      if (found.size >= mostFound) found.clear();
      const place = findTokenPlace({ url, issuer, metadata, fetch });
      const entry = { place, until: clock.monotonic() + keptMs };
      found.set(metadata, entry);
      place.catch(() => {
        if (found.get(metadata) === entry) found.delete(metadata);
      });
      return place;
    },
    forget: () => found.clear(),
  };
}
