import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { Driver } from '#drivers/driver.ts';
import type { Observed, ObservedInstance } from '#drivers/workload.ts';
import { ensureUntil, removeFully, workloadOf } from '#test/fixtures/driver-host.ts';

/** One implementation under test, fresh for every test. */
export interface DriverUnderTest {
  readonly driver: Driver;
  /** Another driver on the same machine, as a restarted controller has it. */
  reopen(): Promise<Driver>;
  /** Makes the instance end by itself with exit code 7. */
  crash(instance: ObservedInstance, uid: string): Promise<void>;
  /** Ends everything; throws when something is left that should not be. */
  cleanUp(): Promise<void>;
}

const isRunning = (seen: Observed) => seen.phase === 'Running';
const isFailed = (seen: Observed) => seen.phase === 'Failed';

/** What every Driver keeps. */
export function testDriverContract(name: string, create: () => Promise<DriverUnderTest>): void {
  describe(`the ${name} driver keeps the driver contract`, { timeout: 120_000 }, () => {
    let under: DriverUnderTest;
    beforeEach(async () => {
      under = await create();
    });
    afterEach(() => under.cleanUp());

    it('knows nothing at first and starts nothing unasked', async () => {
      const workload = workloadOf();
      const seen = await under.driver.ensure(workload, { start: false });
      assert.equal(seen.phase, 'Absent');
      assert.deepEqual(seen.instances, []);
      assert.deepEqual(await under.driver.list(), []);
    });

    it('starts a workload once, however often it is asked', async () => {
      const workload = workloadOf();
      const first = onlyInstance(await ensureUntil(under.driver, workload, isRunning));
      const again = await under.driver.ensure(workload, { start: true });
      assert.equal(onlyInstance(again).uid, first.uid);
      assert.equal(onlyInstance(again).pid, first.pid);
      assert.equal(again.specHash, workload.specHash);
      assert.deepEqual(await under.driver.list(), [workload.id]);
      await removeFully(under.driver, workload);
    });

    it('answers ensure and remove within a second', async () => {
      const workload = workloadOf();
      const begin = performance.now();
      await under.driver.ensure(workload, { start: true });
      const ensured = performance.now();
      await under.driver.remove(workload.id, { retain: false });
      assert.ok(ensured - begin < 1_000, `ensure took ${ensured - begin} ms`);
      assert.ok(performance.now() - ensured < 1_000, 'remove took longer');
      await removeFully(under.driver, workload);
    });

    it('replaces a running instance when the spec hash changes, and tells both in order', async () => {
      const workload = workloadOf();
      const before = onlyInstance(await ensureUntil(under.driver, workload, isRunning));
      const changed = { ...workload, specHash: 'two' };
      const told: Observed[] = [];
      const seen = await ensureUntil(under.driver, changed, (o) => {
        told.push(o);
        return isRunning(o) && o.specHash === 'two';
      });
      assert.notEqual(onlyInstance(seen).uid, before.uid);
      const ends = told.filter(({ specHash }) => specHash === 'two').flatMap(({ instances }) => instances);
      assert.ok(
        ends.every(({ exit }) => exit === undefined),
        'the end of the old one is told as one of the new',
      );
      await removeFully(under.driver, workload);
    });

    it('reports an end with its exit, and starts again only after telling it', async () => {
      const workload = workloadOf();
      const first = onlyInstance(await ensureUntil(under.driver, workload, isRunning));
      await under.crash(first, workload.id.uid);
      const failed = await ensureUntil(under.driver, workload, isFailed);
      assert.equal(onlyInstance(failed).uid, first.uid);
      assert.equal(onlyInstance(failed).exit?.code, 7);
      const held = await under.driver.ensure(workload, { start: false });
      assert.equal(held.phase, 'Failed');
      const second = onlyInstance(await ensureUntil(under.driver, workload, isRunning));
      assert.notEqual(second.uid, first.uid);
      assert.equal(second.exit, undefined);
      await removeFully(under.driver, workload);
    });

    it('removes a workload, forgets it, and says done again when asked again', async () => {
      const workload = workloadOf();
      await ensureUntil(under.driver, workload, isRunning);
      await removeFully(under.driver, workload);
      assert.deepEqual(await under.driver.list(), []);
      assert.deepEqual(await under.driver.remove(workload.id, { retain: false }), { done: true });
      assert.equal((await under.driver.ensure(workload, { start: false })).phase, 'Absent');
    });

    it('calls back when something changed and not after the watcher stopped', async () => {
      const workload = workloadOf();
      const told: string[] = [];
      const stop = under.driver.watch((id) => told.push(id.uid));
      const first = onlyInstance(await ensureUntil(under.driver, workload, isRunning));
      assert.ok(told.includes(workload.id.uid));
      stop();
      const before = told.length;
      await under.crash(first, workload.id.uid);
      await ensureUntil(under.driver, workload, isFailed, { start: false });
      assert.equal(told.length, before);
      await removeFully(under.driver, workload);
    });

    it('calls nobody back when there was nothing to remove', async () => {
      const workload = workloadOf();
      const told: string[] = [];
      const stop = under.driver.watch((id) => told.push(id.uid));
      assert.deepEqual(await under.driver.remove(workload.id, { retain: true }), { done: true });
      assert.deepEqual(told, []);
      await ensureUntil(under.driver, workload, isRunning);
      await removeFully(under.driver, workload);
      const before = told.length;
      assert.deepEqual(await under.driver.remove(workload.id, { retain: true }), { done: true });
      assert.equal(told.length, before);
      stop();
    });

    it('treats an Agent that was created again as another workload', async () => {
      const workload = workloadOf();
      const successor = workloadOf({ id: { ...workload.id, uid: `${workload.id.uid}-again` } });
      const first = onlyInstance(await ensureUntil(under.driver, workload, isRunning));
      const second = onlyInstance(await ensureUntil(under.driver, successor, isRunning));
      assert.notEqual(first.uid, second.uid);
      assert.equal((await under.driver.list()).length, 2);
      await removeFully(under.driver, workload);
      assert.equal((await under.driver.ensure(successor, { start: false })).phase, 'Running');
      await removeFully(under.driver, successor);
    });

    it('finds running workloads again after a restart of the controller and leaves them alone', async () => {
      const workload = workloadOf();
      const first = onlyInstance(await ensureUntil(under.driver, workload, isRunning));
      await under.driver.close();
      const reopened = await under.reopen();
      assert.deepEqual(await reopened.list(), [workload.id]);
      const seen = await reopened.ensure(workload, { start: true });
      assert.equal(seen.phase, 'Running');
      assert.equal(onlyInstance(seen).uid, first.uid);
      assert.equal(onlyInstance(seen).pid, first.pid);
      await removeFully(reopened, workload);
      await reopened.close();
    });

    it('has a log', async () => {
      const workload = workloadOf();
      await ensureUntil(under.driver, workload, isRunning);
      const lines: string[] = [];
      const signal = AbortSignal.timeout(10_000);
      for await (const line of under.driver.logs(workload.id, { tail: 50, follow: true, signal })) {
        lines.push(line);
        break;
      }
      assert.match(lines[0] ?? '', new RegExp(workload.id.name));
      await removeFully(under.driver, workload);
    });
  });
}

export function onlyInstance(seen: Observed): ObservedInstance {
  assert.equal(seen.instances.length, 1, JSON.stringify(seen));
  const [instance] = seen.instances;
  assert.ok(instance !== undefined);
  return instance;
}
