import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Lease } from '#api/core-kinds.ts';
import { silentLog } from '#kit/log.ts';
import { systemRandom } from '#kit/random.ts';
import { type Client, createClient } from '#kube/client.ts';
import { endpointFromAddress } from '#kube/endpoint.ts';
import { type LeaderElector, startLeaderElection } from '#kube/leader-election.ts';
import { createFakeClock, type FakeClock } from '#test/fixtures/fake-clock.ts';
import { FakeApi } from './fake-api.ts';

const bounded = { timeout: 30_000 };

interface Candidate {
  readonly elector: LeaderElector;
  readonly clock: FakeClock;
  readonly client: Client;
  readonly log: string[];
}

interface Stage {
  readonly api: FakeApi;
  candidate(identity: string, options?: { wallSkewMs?: number }): Candidate;
  /** Moves these clocks (default all) together, with real time for the sockets between. */
  pass(ms: number, only?: Candidate[]): Promise<void>;
  lease(): Lease['spec'];
  leaders(): Candidate[];
  /** The largest number of candidates that thought they led at the same moment. */
  readonly mostAtOnce: { value: number };
}

async function onStage(run: (stage: Stage) => Promise<void>): Promise<void> {
  const api = new FakeApi();
  await api.listen();
  const candidates: Candidate[] = [];
  const mostAtOnce = { value: 0 };
  const stage: Stage = {
    api,
    mostAtOnce,
    candidate(identity, { wallSkewMs = 0 } = {}) {
      const clock = createFakeClock(Date.UTC(2026, 0, 1) + wallSkewMs);
      const client = createClient({ endpoint: endpointFromAddress(api.address), clock });
      const log: string[] = [];
      const elector = startLeaderElection({
        client,
        lease: { namespace: 'default', name: 'controller' },
        identity,
        clock,
        random: systemRandom,
        log: silentLog,
        onStarted: () => log.push('started'),
        onLost: () => log.push('lost'),
      });
      candidates.push({ elector, clock, client, log });
      return candidates.at(-1) as Candidate;
    },
    async pass(ms, only = candidates) {
      for (let left = ms; left > 0; left -= 250) {
        await new Promise((resolve) => setTimeout(resolve, 3));
        for (const { clock } of only) await clock.advance(Math.min(250, left));
        mostAtOnce.value = Math.max(mostAtOnce.value, stage.leaders().length);
      }
      await new Promise((resolve) => setTimeout(resolve, 5));
    },
    lease: () => (api.store('leases').get('default', 'controller') as Lease).spec,
    leaders: () => candidates.filter(({ elector }) => elector.isLeader()),
  };
  try {
    await run(stage);
  } finally {
    api.clearFaults();
    await Promise.all(candidates.map(({ elector }) => elector.stop()));
    await Promise.all(candidates.map(({ client }) => client.close()));
    await api.stop();
  }
}

describe('leader election', () => {
  test('gives the lease to one of two and to the other when it is given back', bounded, () =>
    onStage(async (stage) => {
      const a = stage.candidate('a');
      const b = stage.candidate('b');
      await stage.pass(60_000);
      const [first] = stage.leaders();
      assert.ok(first);
      const second = first === a ? b : a;
      assert.deepEqual([first.log, second.log], [['started'], []]);
      await first.elector.stop();
      assert.equal(stage.lease()?.holderIdentity, undefined);
      await stage.pass(5_000, [second]);
      assert.deepEqual([first.log, second.log], [['started'], ['started']]);
      assert.equal(stage.lease()?.leaseTransitions, 1);
      assert.equal(stage.mostAtOnce.value, 1);
    }),
  );

  test('writes times with exactly six fractional digits and whole seconds of duration', bounded, () =>
    onStage(async (stage) => {
      stage.candidate('a');
      await stage.pass(1_000);
      const spec = stage.lease();
      const microTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;
      assert.match(spec?.renewTime ?? '', microTime);
      assert.match(spec?.acquireTime ?? '', microTime);
      assert.equal(spec?.leaseDurationSeconds, 15);
    }),
  );

  test('lets a candidate whose clock is an hour ahead wait as long as any other', bounded, () =>
    onStage(async (stage) => {
      const a = stage.candidate('a');
      await stage.pass(1_000);
      const b = stage.candidate('b', { wallSkewMs: 3_600_000 });
      const c = stage.candidate('c', { wallSkewMs: -3_600_000 });
      await stage.pass(60_000);
      assert.deepEqual([a.log, b.log, c.log], [['started'], [], []]);
      assert.equal(stage.mostAtOnce.value, 1);
    }),
  );

  test('takes over from a leader that died after the lease has been still for its duration', bounded, () =>
    onStage(async (stage) => {
      const a = stage.candidate('a');
      await stage.pass(1_000);
      const b = stage.candidate('b');
      await stage.pass(4_000);
      await stage.pass(12_000, [b]);
      assert.deepEqual(b.log, []);
      await stage.pass(10_000, [b]);
      assert.deepEqual(b.log, ['started']);
      // The old leader wakes up: at once it no longer thinks that it leads, then it learns that it has lost.
      a.clock.freeze(22_000);
      assert.equal(a.elector.isLeader(), false);
      await stage.pass(3_000);
      assert.deepEqual(a.log, ['started', 'lost']);
      assert.equal(b.elector.isLeader(), true);
    }),
  );

  test('leads on after a pause in which nobody came', bounded, () =>
    onStage(async (stage) => {
      const a = stage.candidate('a');
      await stage.pass(1_000);
      a.clock.freeze(600_000);
      assert.equal(a.elector.isLeader(), false);
      await stage.pass(3_000);
      assert.equal(a.elector.isLeader(), true);
      assert.deepEqual(a.log, ['started']);
    }),
  );

  for (const [name, fault] of Object.entries({
    'refuses every write': { kind: 'status', status: 500 },
    'answers nothing': { kind: 'silence' },
    'cuts every connection': { kind: 'cut' },
  } as const)) {
    test(`is lost within the lease's duration when the API ${name}`, bounded, () =>
      onStage(async (stage) => {
        const a = stage.candidate('a');
        await stage.pass(1_000);
        for (const verb of ['get', 'update'] as const) stage.api.fail(verb, fault, Number.POSITIVE_INFINITY);
        await stage.pass(8_000);
        assert.deepEqual(a.log, ['started']);
        await stage.pass(6_000);
        assert.deepEqual(a.log, ['started', 'lost']);
        assert.equal(a.elector.isLeader(), false);
      }),
    );
  }

  test('survives an outage shorter than the renew deadline', bounded, () =>
    onStage(async (stage) => {
      const a = stage.candidate('a');
      await stage.pass(1_000);
      // One renewal, then the two reads that look who has the lease: three attempts, at most 7.2 s.
      stage.api.fail('update', { kind: 'status', status: 500 });
      stage.api.fail('get', { kind: 'status', status: 500 }, 2);
      await stage.pass(30_000);
      assert.deepEqual(a.log, ['started']);
      assert.equal(a.elector.isLeader(), true);
    }),
  );

  test('is lost at once when somebody else is written into the lease', bounded, () =>
    onStage(async (stage) => {
      const a = stage.candidate('a');
      await stage.pass(1_000);
      stage.api.store('leases').change('default', 'controller', (lease) => ({
        ...lease,
        spec: { ...(lease as Lease).spec, holderIdentity: 'thief' },
      }));
      await stage.pass(3_000);
      assert.deepEqual(a.log, ['started', 'lost']);
      assert.equal(stage.lease()?.holderIdentity, 'thief');
    }),
  );

  test(
    'elects one of eight candidates that start together, through conflicts and lost answers',
    bounded,
    () =>
      onStage(async (stage) => {
        stage.api.fail('create', { kind: 'cut' }, 2);
        for (let i = 0; i < 8; i++) stage.candidate(`c${i}`);
        await stage.pass(40_000);
        assert.equal(stage.leaders().length, 1);
        assert.equal(stage.mostAtOnce.value, 1);
      }),
  );

  test('refuses settings that would let two lead', bounded, () =>
    onStage(async (stage) => {
      const a = stage.candidate('a');
      assert.throws(
        () =>
          startLeaderElection({
            client: a.client,
            lease: { namespace: 'default', name: 'x' },
            identity: 'x',
            clock: a.clock,
            random: systemRandom,
            log: silentLog,
            leaseDurationMs: 10_000,
            renewDeadlineMs: 10_000,
            onStarted: () => undefined,
            onLost: () => undefined,
          }),
        RangeError,
      );
    }),
  );
});
