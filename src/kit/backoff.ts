export interface BackoffOptions {
  /** First delay in milliseconds. */
  readonly initial: number;
  /** Largest delay in milliseconds, before jitter. */
  readonly max: number;
  /** Growth per failure. Default 2. */
  readonly factor?: number;
  /** Share of the delay that varies: 0.1 spreads it over ±10 %. Default 0. */
  readonly jitter?: number;
}

/**
 * Delay in milliseconds before try number `failures + 1`.
 * `failures` counts from 1; 0 or less gives 0. `fraction` is uniform in [0, 1).
 */
export function backoffDelay(options: BackoffOptions, failures: number, fraction = 0.5): number {
  if (failures <= 0) return 0;
  const grown = options.initial * (options.factor ?? 2) ** (failures - 1);
  const delay = Math.min(grown, options.max);
  return delay * (1 + (options.jitter ?? 0) * (2 * fraction - 1));
}
