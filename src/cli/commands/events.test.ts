import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CoreEvent } from '#api/core-kinds.ts';
import { byLastSeen, lastSeenOf } from '../event-time.ts';
import { isAbout } from './events.ts';

function event(involvedObject: CoreEvent['involvedObject'], more: object = {}): CoreEvent {
  return { apiVersion: 'v1', kind: 'Event', metadata: { name: 'e' }, involvedObject, ...more };
}

test('events of an agent are those of it, its pods and its volume claims, and of no other agent', () => {
  const cases: [string, string, boolean][] = [
    ['Agent', 'files', true],
    ['Pod', 'files-0-x7k2p', true],
    ['Pod', 'files-12-x7k2p', true],
    ['PersistentVolumeClaim', 'files-workspace-0', true],
    ['Agent', 'files-2', false],
    ['Pod', 'files-more-0-x7k2p', false],
    ['Pod', 'my-files-0-x7k2p', false],
  ];
  for (const [kind, name, wanted] of cases)
    assert.equal(isAbout(event({ kind, name }), 'files'), wanted, name);
});

test('an event is as old as the field says that its recorder writes', () => {
  const about = { name: 'a' };
  const old = event(about, { lastTimestamp: '2026-01-01T00:00:01Z' });
  const single = event(about, { lastTimestamp: null, eventTime: '2026-01-01T00:00:02.000000Z' });
  const series = event(about, {
    eventTime: '2026-01-01T00:00:00.000000Z',
    series: { lastObservedTime: '2026-01-01T00:00:03.000000Z' },
  });
  assert.deepEqual([series, single, old].sort(byLastSeen), [old, single, series]);
  assert.equal(lastSeenOf(event(about)), undefined);
});
