import { compareVersions, newerVersion } from './resource-version.ts';

/**
 * Remembers deletions, so that an event from before one does not bring the object back. Bounded: past `limit`
 * the oldest are forgotten and their versions become a floor that holds for every unknown object, as the version
 * of a complete list does: what is older than it and not in the cache is gone.
 */
export function createTombstones(limit = 1024) {
  const buried = new Map<string, string>();
  let floor: string | undefined;

  function raise(version: string): void {
    if (floor === undefined || (compareVersions(version, floor) ?? 1) > 0) floor = version;
  }

  return {
    /** What an unknown object's version has to exceed to be believed. */
    versionOf: (text: string): string | undefined => {
      const version = buried.get(text);
      if (version === undefined || floor === undefined) return version ?? floor;
      return (compareVersions(version, floor) ?? 1) > 0 ? version : floor;
    },
    bury(text: string, version: string | undefined): void {
      if (version === undefined) return;
      const before = buried.get(text);
      buried.delete(text);
      buried.set(text, newerVersion(before, version));
      if (buried.size <= limit) return;
      const [oldest] = buried;
      if (oldest === undefined) return;
      buried.delete(oldest[0]);
      raise(oldest[1]);
    },
    /** A complete list of this version supersedes all that was remembered. */
    reset(version: string): void {
      buried.clear();
      floor = version;
    },
  };
}
