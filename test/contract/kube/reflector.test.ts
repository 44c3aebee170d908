import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Fault } from './fake-api.ts';
import { type Follower, startFollower } from './follower.ts';

const bounded = { timeout: 60_000 };

/** Runs a scenario on a synced follower and ends everything, whatever happens. */
function scenario(name: string, run: (follower: Follower) => Promise<void>): void {
  test(name, bounded, async () => {
    const follower = await startFollower();
    try {
      await run(follower);
    } finally {
      await follower.stop();
    }
  });
}

/** One change of each sort. */
function churn(follower: Follower, size: number): void {
  follower.put('a', size);
  follower.put(`new-${size}`, size);
  if (follower.api.store('things').list('default').length > 3) follower.remove('b');
  follower.put('b', size);
}

describe('the reflector', () => {
  scenario('follows additions, changes and deletions by one list and one watch', async (follower) => {
    churn(follower, 2);
    churn(follower, 3);
    await follower.converge();
    assert.deepEqual(follower.countSince(), { lists: 0, watches: 0 });
    assert.equal(follower.informer.cache.get({ namespace: 'default', name: 'a' })?.spec?.size, 3);
  });

  scenario('keeps no managedFields and names the kind of listed objects', async (follower) => {
    for (const object of follower.informer.cache.list()) {
      assert.equal('managedFields' in object.metadata, false);
      assert.deepEqual([object.apiVersion, object.kind], ['test.dev/v1', 'Thing']);
    }
  });

  scenario('resumes after a cut socket without listing again', async (follower) => {
    for (let round = 2; round < 12; round++) {
      follower.api.cutConnections();
      churn(follower, round);
      await follower.converge();
    }
    const { lists, watches } = follower.countSince();
    assert.equal(lists, 0);
    assert.ok(watches <= 10, `${watches} watches for 10 cuts`);
  });

  scenario('resumes after a watch cut in the middle of an event', async (follower) => {
    follower.api.fail('watch', { kind: 'cut' });
    follower.api.closeWatches();
    churn(follower, 2);
    await follower.converge();
    assert.deepEqual(follower.countSince(), { lists: 0, watches: 2 });
  });

  scenario('takes a silent watch for dead after the idle limit', async (follower) => {
    follower.api.fail('watch', { kind: 'silence' });
    follower.api.closeWatches();
    await follower.pass(1_000);
    churn(follower, 2);
    await follower.pass(5_000);
    assert.equal(follower.informer.cache.get({ namespace: 'default', name: 'a' })?.spec?.size, 1);
    await follower.converge(10_000);
    assert.deepEqual(follower.countSince(), { lists: 0, watches: 2 });
  });

  scenario('lets bookmarks and bytes keep a quiet watch alive', async (follower) => {
    for (let i = 0; i < 6; i++) {
      await follower.pass(4_000);
      if (i % 2 === 0) follower.api.sendBookmarks();
      else follower.api.inject('\n');
    }
    assert.deepEqual(follower.countSince(), { lists: 0, watches: 0 });
  });

  scenario('resumes from a bookmark when the events before it are forgotten', async (follower) => {
    follower.api.store('others').create({ apiVersion: 'v1', kind: 'Other', metadata: { name: 'x' } });
    follower.api.sendBookmarks();
    await follower.pass(100);
    follower.api.store('things').compact();
    follower.api.closeWatches();
    churn(follower, 2);
    await follower.converge();
    assert.deepEqual(follower.countSince(), { lists: 0, watches: 1 });
  });

  for (const [name, fault] of Object.entries({
    'a status of 410': undefined,
    'a 410 inside the watch': { kind: 'in-band', status: 410 },
  } satisfies Record<string, Fault | undefined>)) {
    scenario(`lists once again after ${name}`, async (follower) => {
      if (fault !== undefined) follower.api.fail('watch', fault);
      churn(follower, 2);
      follower.api.cutConnections();
      churn(follower, 3);
      follower.api.store('things').compact();
      await follower.converge();
      const { lists, watches } = follower.countSince();
      // Two pages for the list at most three for what churn added.
      assert.ok(lists <= 3, `${lists} list requests`);
      assert.ok(watches <= 2, `${watches} watches`);
    });
  }

  scenario(
    'lists again, jittered and with backoff, while the server keeps answering 410',
    async (follower) => {
      follower.api.fail('watch', { kind: 'status', status: 410 }, 20);
      follower.api.closeWatches();
      churn(follower, 2);
      await follower.pass(80_000);
      await follower.converge();
      const { watches } = follower.countSince();
      assert.equal(watches, 21);
      assert.ok(perSecond(follower) <= 3, `${perSecond(follower)} watches in one second`);
    },
  );

  scenario('does not storm a server that closes every watch cleanly at once', async (follower) => {
    follower.api.fail('watch', { kind: 'close' }, Number.POSITIVE_INFINITY);
    follower.api.closeWatches();
    await follower.pass(60_000);
    const { lists, watches } = follower.countSince();
    assert.equal(lists, 0);
    assert.ok(watches >= 12 && watches <= 22, `${watches} watches in 60 s`);
    follower.api.clearFaults();
    churn(follower, 2);
    await follower.converge(6_000);
  });

  scenario('reconnects calmly when watches close cleanly after a while', async (follower) => {
    for (let round = 2; round < 7; round++) {
      await follower.pass(9_000);
      follower.api.sendBookmarks();
      await follower.pass(2_000);
      follower.api.closeWatches();
      churn(follower, round);
      await follower.converge(1_000);
    }
    assert.deepEqual(follower.countSince(), { lists: 0, watches: 5 });
  });

  scenario('survives a watch that is accepted and closed slowly', async (follower) => {
    follower.api.fail('watch', { kind: 'close', afterMs: 50 }, 3);
    follower.api.closeWatches();
    churn(follower, 2);
    await follower.converge();
    assert.deepEqual(follower.countSince(), { lists: 0, watches: 4 });
  });

  for (const status of [500, 503, 401, 403, 404]) {
    scenario(`retries a watch that answers ${status} with backoff and does not list`, async (follower) => {
      follower.api.fail('watch', { kind: 'status', status }, 8);
      follower.api.closeWatches();
      churn(follower, 2);
      await follower.converge(40_000);
      assert.deepEqual(follower.countSince(), { lists: 0, watches: 9 });
    });
  }

  scenario('retries after an in-band 500 without listing', async (follower) => {
    follower.api.fail('watch', { kind: 'in-band', status: 500 }, 2);
    follower.api.closeWatches();
    churn(follower, 2);
    await follower.converge();
    assert.deepEqual(follower.countSince(), { lists: 0, watches: 3 });
  });

  scenario('leaves a server alone for as long as its Retry-After says', async (follower) => {
    follower.api.fail('watch', { kind: 'status', status: 429, retryAfter: 20 });
    follower.api.closeWatches();
    churn(follower, 2);
    await follower.pass(19_000);
    assert.deepEqual(follower.countSince(), { lists: 0, watches: 1 });
    await follower.converge(3_000);
    assert.deepEqual(follower.countSince(), { lists: 0, watches: 1 });
  });

  scenario('reconnects after a line that is not JSON', async (follower) => {
    follower.api.fail('watch', { kind: 'garbage' });
    follower.api.closeWatches();
    churn(follower, 2);
    await follower.converge();
    assert.deepEqual(follower.countSince(), { lists: 0, watches: 2 });
  });

  for (const reverse of [false, true]) {
    scenario(
      `is not confused by a history sent again${reverse ? ' backwards' : ''} after a restart`,
      async (follower) => {
        churn(follower, 2);
        follower.remove('c');
        await follower.converge();
        await follower.api.stop();
        churn(follower, 3);
        follower.api.fail('watch', { kind: 'replay', reverse });
        await follower.api.listen();
        await follower.converge();
        assert.equal(follower.countSince().lists, 0);
      },
    );
  }

  scenario('finds a restarted server again within five seconds, ten times', async (follower) => {
    for (let round = 2; round < 12; round++) {
      await follower.api.stop();
      churn(follower, round);
      await follower.pass(10_000);
      await follower.api.listen();
      await follower.converge(5_000);
    }
    assert.equal(follower.countSince().lists, 0);
  });

  scenario('believes a server that was set back to an older state', async (follower) => {
    churn(follower, 2);
    await follower.converge();
    await follower.api.stop();
    follower.api.rewind(2);
    follower.put('a', 7);
    follower.remove('b');
    follower.put('c', 8);
    follower.api.store('things').compact();
    follower.api.store('things').compactedTo = 0;
    await follower.api.listen();
    await follower.converge();
    assert.equal(follower.informer.cache.get({ namespace: 'default', name: 'c' })?.spec?.size, 8);
  });

  scenario('does not let an observed write be undone by an older list', async (follower) => {
    const { cache } = follower.informer;
    const key = { namespace: 'default', name: 'a' };
    follower.api.fail('watch', { kind: 'silence' });
    follower.api.closeWatches();
    await follower.pass(500);
    follower.put('a', 2);
    follower.informer.observe(structuredClone(follower.api.store('things').get('default', 'a')) as never);
    assert.equal(cache.get(key)?.spec?.size, 2);
    await follower.converge();
    assert.equal(follower.events.filter((event) => event.type === 'updated').length, 1);
  });
});

describe('the first list of a reflector', () => {
  const faults: Record<string, Fault> = {
    'a 500': { kind: 'status', status: 500 },
    'a cut socket': { kind: 'cut' },
    'a 429': { kind: 'status', status: 429, retryAfter: 2 },
    'a silent server': { kind: 'silence' },
  };
  for (const [name, fault] of Object.entries(faults)) {
    test(`is tried again after ${name}`, bounded, async () => {
      const follower = await startFollower({ faultsFirst: (api) => api.fail('list', fault, 3) });
      try {
        await follower.pass(100);
        assert.equal(follower.informer.cache.synced, false);
        await follower.converge(100_000);
        await follower.informer.synced;
        assert.deepEqual(follower.countSince(), { lists: 5, watches: 1 });
      } finally {
        await follower.stop();
      }
    });
  }

  test('is made whole when its snapshot is compacted away between two pages', bounded, async () => {
    const follower = await startFollower({
      faultsFirst: (api) => {
        api.store('things').create({
          apiVersion: 'test.dev/v1',
          kind: 'Thing',
          metadata: { namespace: 'default', name: 'zz' },
        });
        api.failWhen((request) => request.query.has('continue'), { kind: 'status', status: 410 });
      },
    });
    try {
      await follower.converge();
      assert.deepEqual(follower.countSince(), { lists: 3, watches: 1 });
    } finally {
      await follower.stop();
    }
  });
});

function perSecond(follower: Follower): number {
  const times = follower.api.requests
    .filter((request) => request.verb === 'watch')
    .map((request) => request.at);
  return Math.max(
    ...times.map((time) => times.filter((other) => other >= time && other < time + 1_000).length),
  );
}
