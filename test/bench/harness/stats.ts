/** Middle of the sorted values; NaN for none. */
export function median(values: readonly number[]): number {
  return percentile([...values].sort(ascending), 0.5);
}

/** Nearest-rank percentile of values that are sorted already; NaN for none. */
export function percentile(sorted: ArrayLike<number>, fraction: number): number {
  const rank = Math.max(1, Math.ceil(fraction * sorted.length));
  return sorted[rank - 1] ?? Number.NaN;
}

/** The median over rounds of `top / bottom` of the same round, so that a busy minute spoils both or neither. */
export function medianRatio<T>(
  rounds: readonly T[],
  top: (round: T) => number,
  bottom: (round: T) => number,
): number {
  return median(rounds.map((round) => top(round) / bottom(round)));
}

export function round(value: number, digits = 2): number {
  return Number(value.toFixed(digits));
}

export function ascending(left: number, right: number): number {
  return left - right;
}
