const decimal = /^(0|[1-9][0-9]*)$/;

/**
 * Orders two resource versions: negative when `a` is older, 0 when equal, positive when newer.
 * Versions are comparable integers of up to 128 bits (KEP-5504); undefined when one is not a decimal number,
 * because then nothing but equality is known.
 */
export function compareVersions(a: string | undefined, b: string | undefined): number | undefined {
  if (a === undefined || b === undefined) return undefined;
  if (a === b) return 0;
  if (!decimal.test(a) || !decimal.test(b)) return undefined;
  if (a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : 1;
}

/** The newer of two versions; the second when they cannot be compared. */
export function newerVersion(known: string | undefined, next: string): string {
  return (compareVersions(known, next) ?? -1) > 0 && known !== undefined ? known : next;
}
