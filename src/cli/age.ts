/** A time span as kubectl writes ages: `45s`, `3m20s`, `5h`, `2d`. */
export function formatSpan(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return withRest(minutes, 'm', seconds % 60, 's');
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 8) return withRest(hours, 'h', minutes % 60, 'm');
  if (hours < 48) return `${hours}h`;
  const days = Math.floor(hours / 24);
  return days < 8 ? withRest(days, 'd', hours % 24, 'h') : `${days}d`;
}

function withRest(main: number, unit: string, rest: number, restUnit: string): string {
  return rest === 0 ? `${main}${unit}` : `${main}${unit}${rest}${restUnit}`;
}

/** Age of an RFC 3339 time; `<unknown>` when there is none. */
export function formatAge(timestamp: string | undefined, now: number): string {
  const time = timestamp === undefined ? Number.NaN : Date.parse(timestamp);
  return Number.isNaN(time) ? '<unknown>' : formatSpan(now - time);
}
