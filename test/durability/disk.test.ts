import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Fault, runDisk } from './disk/disk-run.ts';

const faults: Record<Fault, string> = {
  full: 'a full disk',
  flush: 'a disk that fails to flush',
};

for (const [fault, name] of Object.entries(faults)) {
  test(`a queue on ${name} refuses, acknowledges nothing that is not kept, and goes on by itself`, {
    timeout: 120_000,
  }, async (t) => {
    const outcome = await runDisk(fault as Fault);
    if ('missing' in outcome) return t.skip(outcome.missing);
    assert.ok(outcome.refused >= 25);
    for (const told of Object.keys(outcome.refusals)) assert.match(told, /^QueueUnavailable: /);
    assert.ok(outcome.slowestRefusalMs < 5_000, `a refusal took ${outcome.slowestRefusalMs} ms`);
    assert.equal(outcome.readable, 40, 'what was there can be read all the while');
    const { lost, lostIfKilled, ghosts, ghostsIfKilled } = outcome;
    assert.deepEqual(
      { lost, lostIfKilled, ghosts, ghostsIfKilled },
      {
        ...{ lost: 0, lostIfKilled: 0, ghosts: 0, ghostsIfKilled: 0 },
      },
    );
    assert.ok(outcome.recoveredMs <= 5_000, `it took orders again after ${outcome.recoveredMs} ms`);
    assert.ok(outcome.doneMs <= 15_000, `it took ${outcome.doneMs} ms to do what was left`);
    const { unfinished, ranTwice, running, pending } = outcome;
    assert.deepEqual(
      { unfinished, ranTwice, running, pending },
      {
        ...{ unfinished: 0, ranTwice: 0, running: 0, pending: 0 },
      },
    );
  });
}
