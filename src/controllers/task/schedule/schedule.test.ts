import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Task } from '#api/task.ts';
import type { Step } from '../step.ts';
import { makeTask } from '../testing.ts';
import { parseCron } from './cron.ts';
import { nextScheduled, stampedName } from './next.ts';

function timesOf(cron: string, timeZone = 'UTC') {
  const parsed = parseCron(cron, timeZone);
  assert.ok(parsed.ok, JSON.stringify(parsed));
  return parsed.times;
}

function runs(cron: string, timeZone: string, from: string, count: number): string[] {
  const times = timesOf(cron, timeZone);
  const found: string[] = [];
  for (let time = Date.parse(from); found.length < count; ) {
    time = times.after(time) ?? assert.fail('it does not come');
    found.push(new Date(time).toISOString().slice(5, 16));
  }
  return found;
}

describe('Times of a cron expression', () => {
  const bucharest = 'Europe/Bucharest';
  const cases: readonly [string, string, string, string, readonly string[]][] = [
    [
      'are those of the time zone’s clock, in summer and in winter',
      '30 9 * * *',
      bucharest,
      '2026-03-28T00:00:00Z',
      ['03-28T07:30', '03-29T06:30', '03-30T06:30'],
    ],
    [
      'that the clock leaps over are the end of the leap',
      '30 3 * * *',
      bucharest,
      '2026-03-28T12:00:00Z',
      ['03-29T01:00', '03-30T00:30'],
    ],
    [
      'that come twice count once',
      '30 3 * * *',
      bucharest,
      '2026-10-24T12:00:00Z',
      ['10-25T00:30', '10-26T01:30'],
    ],
    [
      'that go by the half hour go on through it',
      '*/30 * * * *',
      bucharest,
      '2026-10-25T00:15:00Z',
      ['10-25T00:30', '10-25T01:00', '10-25T01:30', '10-25T02:00'],
    ],
    [
      'pass months without the day over',
      '0 0 31 * *',
      'UTC',
      '2026-01-31T12:00:00Z',
      ['03-31T00:00', '05-31T00:00'],
    ],
    [
      'take day and weekday as alternatives',
      '0 0 13 * 5',
      'UTC',
      '2026-03-07T00:00:00Z',
      ['03-13T00:00', '03-20T00:00'],
    ],
    ['have names', '@daily', 'UTC', '2026-01-01T12:00:00Z', ['01-02T00:00', '01-03T00:00']],
  ];
  for (const [name, cron, zone, from, expected] of cases) {
    it(name, () => assert.deepEqual(runs(cron, zone, from, expected.length), expected));
  }

  for (const [cron, zone, field] of [
    ['61 * * * *', 'UTC', 'cron'],
    ['* * * * * *', 'UTC', 'cron'],
    ['@reboot', 'UTC', 'cron'],
    ['0 0 30 2 *', 'UTC', 'cron'],
    ['0 0 * * *', 'Mars/Base', 'timeZone'],
  ] as const) {
    it(`${cron} in ${zone} is refused at ${field}`, () => {
      const parsed = parseCron(cron, zone);
      assert.deepEqual([parsed.ok, !parsed.ok && parsed.field], [false, field]);
    });
  }

  it('the last one due is found over a year in a moment', () => {
    const now = Date.parse('2026-06-01T10:07:30Z');
    const begun = performance.now();
    const due = timesOf('*/5 * * * *').lastDue(now - 365 * 86_400_000, now);
    assert.equal(new Date(due ?? 0).toISOString(), '2026-06-01T10:05:00.000Z');
    assert.equal(timesOf('0 0 1 1 *').lastDue(now - 365 * 86_400_000, now), Date.parse('2026-01-01'));
    assert.equal(timesOf('0 0 1 1 *').lastDue(now - 86_400_000, now), undefined);
    assert.ok(performance.now() - begun < 2_000);
  });
});

const at = (time: string) => Date.parse(`2026-01-01T${time}Z`);
const base = (schedule: object = {}, last?: string, spec: object = {}): Task => ({
  ...makeTask({ schedule: { cron: '0 * * * *', ...schedule }, ...spec }, { name: 'tick', uid: 'uid-tick' }),
  status: last === undefined ? {} : { lastScheduleTime: `2026-01-01T${last}Z` },
});

function look(
  task: Task,
  now: number,
  made: readonly Task[] = [],
  needed: readonly string[] = [],
): Step<NonNullable<Task['status']>> {
  const { schedule } = task.spec;
  assert.ok(schedule);
  const facts = { task, times: timesOf(schedule.cron), made, needed: new Set(needed), now };
  return nextScheduled(facts, schedule);
}

function child(task: Task, time: string, phase: NonNullable<Task['status']>['phase']): Task {
  const name = stampedName(task, at(time));
  return { ...makeTask({}, { name, uid: name }), ...(phase && { status: { phase } }) };
}

const says = ({ create = [], remove = [], notices = [], status }: ReturnType<typeof look>) => ({
  last: status?.lastScheduleTime?.slice(11, 16),
  next: status?.nextScheduleTime?.slice(11, 16),
  made: create
    .map(({ metadata }) => metadata.name.replace('tick-', ''))
    .map((minute) => new Date(Number(minute) * 60_000).toISOString().slice(11, 16)),
  gone: remove.map(({ name }) =>
    new Date(Number(name.replace('tick-', '')) * 60_000).toISOString().slice(11, 16),
  ),
  said: notices.map(({ reason }) => reason),
});
const nothing = { made: [], gone: [], said: [] };

describe('A Task with a schedule', () => {
  it('makes nothing before its time', () => {
    const step = look(base(), at('11:59:00'));
    assert.deepEqual(says(step), { ...nothing, last: undefined, next: '12:00' });
    assert.equal(step.waitMs, 30_000);
  });

  it('makes a Task at its time, and notes that', () => {
    const step = look(base({}, '11:00:00', { ttlSecondsAfterFinished: 9 }), at('12:00:00'));
    assert.deepEqual(says(step), { ...nothing, last: '12:00', next: '13:00', made: ['12:00'] });
    const [made] = step.create ?? [];
    assert.ok(made?.kind === 'Task');
    assert.deepEqual(made.metadata.labels, { 'ploinky.dev/scheduled-by': 'tick' });
    assert.deepEqual(made.metadata.ownerReferences?.[0]?.uid, 'uid-tick');
    assert.deepEqual([made.spec.schedule, made.spec.ttlSecondsAfterFinished], [undefined, 9]);
  });

  it('never makes one again for a time that is noted, wherever the clock is set', () => {
    for (const now of ['12:00:00', '12:59:59', '09:00:00']) {
      assert.deepEqual(look(base({}, '12:00:00'), at(now)).create, undefined, now);
    }
  });

  it('makes the last of several that were missed, and passes over what is too late', () => {
    const late = base({ startingDeadlineSeconds: 300 }, '08:00:00');
    assert.deepEqual(says(look(late, at('12:04:00'))), {
      ...nothing,
      last: '12:00',
      next: '13:00',
      made: ['12:00'],
    });
    assert.deepEqual(says(look(late, at('12:06:00'))), {
      ...nothing,
      last: '12:00',
      next: '13:00',
      said: ['MissedSchedule'],
    });
  });

  it('makes nothing while it is suspended', () => {
    const step = look(base({}, '11:00:00', { suspend: true }), at('12:00:00'));
    assert.deepEqual([step.status?.phase, step.create], ['Held', undefined]);
  });

  it('Forbid waits for the one before, then passes the time over', () => {
    const task = base({ startingDeadlineSeconds: 300 }, '11:00:00');
    const running = [child(task, '11:00:00', 'Running')];
    const waiting = look(task, at('12:01:00'), running);
    assert.deepEqual(says(waiting), { ...nothing, last: '11:00', next: '13:00' });
    assert.deepEqual(says(look(task, at('12:01:00'), [child(task, '11:00:00', 'Succeeded')])).made, [
      '12:00',
    ]);
    assert.deepEqual(says(look(task, at('12:05:01'), running)), {
      ...nothing,
      last: '12:00',
      next: '13:00',
      said: ['SkippedSchedule'],
    });
  });

  it('Allow makes another one beside it, Replace in its place', () => {
    const allow = base({ concurrencyPolicy: 'Allow' }, '11:00:00');
    assert.deepEqual(says(look(allow, at('12:00:00'), [child(allow, '11:00:00', 'Running')])), {
      ...nothing,
      last: '12:00',
      next: '13:00',
      made: ['12:00'],
    });
    const replace = base({ concurrencyPolicy: 'Replace' }, '11:00:00');
    assert.deepEqual(says(look(replace, at('12:00:00'), [child(replace, '11:00:00', 'Running')])), {
      last: '12:00',
      next: '13:00',
      made: ['12:00'],
      gone: ['11:00'],
      said: ['Replaced'],
    });
  });

  it('keeps as many ended ones as its limits say, the youngest, and those of times that are not noted', () => {
    const task = base({ successfulHistoryLimit: 1, failedHistoryLimit: 0 }, '10:00:00');
    const made = [
      child(task, '08:00:00', 'Succeeded'),
      child(task, '09:00:00', 'Succeeded'),
      child(task, '10:00:00', 'Failed'),
      child(task, '11:00:00', 'Succeeded'),
    ];
    const { gone } = says(look({ ...task }, at('10:30:00'), made));
    assert.deepEqual(gone, ['08:00', '10:00']);
  });

  it('keeps those beyond its limits that others wait for', () => {
    const task = base({ successfulHistoryLimit: 0 }, '10:00:00');
    const made = [child(task, '08:00:00', 'Succeeded'), child(task, '09:00:00', 'Succeeded')];
    const needed = [stampedName(task, at('08:00:00'))];
    assert.deepEqual(says(look(task, at('10:30:00'), made, needed)).gone, ['09:00']);
  });

  it('does not take the one of a time that could not be noted for an earlier one', () => {
    for (const concurrencyPolicy of ['Replace', 'Forbid']) {
      const task = base({ concurrencyPolicy }, '11:00:00');
      const step = look(task, at('12:00:01'), [child(task, '12:00:00', 'Running')]);
      assert.deepEqual(says(step), { ...nothing, last: '12:00', next: '13:00', made: ['12:00'] });
    }
  });
});
