import { isObject } from '#kit/json.ts';
import type { Engine } from '../engine.ts';
import { eventKind } from '../kinds/event.ts';
import type { ApiObject } from '../object.ts';

const sweepMilliseconds = 60_000;

/** Removes Events that have not changed for `limits.eventSeconds`, once a minute. The returned function stops it. */
export function expireEvents(engine: Engine): () => void {
  let cancel: () => void = () => undefined;
  const schedule = () => {
    cancel = engine.clock.after(sweepMilliseconds, () => {
      sweepEvents(engine).catch((error: unknown) => engine.log.error('expiring events failed', { error }));
      schedule();
    });
  };
  schedule();
  return () => cancel();
}

/** One sweep; resolves with the number of Events removed. */
function sweepEvents(engine: Engine): Promise<number> {
  const oldest = engine.clock.now() - engine.limits.eventSeconds * 1000;
  return engine.store.transact((transaction) => {
    let removed = 0;
    for (const key of [...transaction.keys(eventKind.storage)]) {
      const entry = transaction.get(eventKind.storage, key);
      if (entry === undefined || lastChange(entry.object) >= oldest) continue;
      transaction.remove(eventKind.storage, key);
      removed += 1;
    }
    return removed;
  });
}

function lastChange(event: ApiObject): number {
  const { series } = event;
  const times = [
    event.metadata.creationTimestamp,
    event['lastTimestamp'],
    isObject(series) ? series['lastObservedTime'] : undefined,
    ...(event.metadata.managedFields ?? []).map((entry) => entry.time),
  ];
  return Math.max(...times.map((time) => (typeof time === 'string' ? Date.parse(time) || 0 : 0)));
}
