import type { CoreEvent } from '#api/core-kinds.ts';

/** When an event last happened: recorders of the two generations of the API write it in different fields. */
export function lastSeenOf(event: CoreEvent): string | undefined {
  const { series } = event as CoreEvent & { series?: { lastObservedTime?: string } | null };
  const times = [series?.lastObservedTime, event.lastTimestamp, event.eventTime, event.firstTimestamp];
  return times.find((time) => typeof time === 'string') ?? event.metadata.creationTimestamp;
}

/** The oldest first. */
export function byLastSeen(left: CoreEvent, right: CoreEvent): number {
  return timeOf(left) - timeOf(right);
}

function timeOf(event: CoreEvent): number {
  return Date.parse(lastSeenOf(event) ?? '') || 0;
}
