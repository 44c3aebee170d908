import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Agent } from '#api/agent.ts';
import { customResourceDefinitions } from '#api/crd.ts';
import { agentResource } from '#api/resources.ts';
import { startApiServer } from '#apiserver/start.ts';
import { startManager } from '#controllers/manager.ts';
import { systemClock } from '#kit/clock.ts';
import { codeOf } from '#kit/errors.ts';
import { silentLog } from '#kit/log.ts';
import { systemRandom } from '#kit/random.ts';
import { type Client, createClient } from '#kube/client.ts';
import { unixEndpoint } from '#kube/endpoint.ts';
import { TransportError } from '#kube/errors.ts';
import { agentNamed } from '#routing/testing.ts';
import { createMemoryMachine, MemoryDriver } from '#test/fixtures/memory-driver.ts';
import { type Leading, startLeading } from './leading.ts';

/** Two controllers of one API, as two pods of a Deployment. */
const bounded = { timeout: 60_000 };
const common = { clock: systemClock, random: systemRandom, log: silentLog };
const leaseSeconds = 3;

interface Replica {
  readonly leading: Leading;
  readonly failures: string[];
  /** The client that the leader's work got, once it leads. */
  client: Client | undefined;
  /** Nothing reaches the API any more, or it does again. */
  cut: boolean;
  /** When this replica wrote objects other than its Lease. Monotonic milliseconds. */
  readonly writes: number[];
}

async function onStage(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'leading-'));
  const socket = join(folder, 'api.sock');
  const definitions = customResourceDefinitions();
  const server = await startApiServer({ ...common, definitions, dataFolder: join(folder, 'data'), socket });
  const user = createClient({ endpoint: unixEndpoint(socket), clock: systemClock });
  const machine = createMemoryMachine();
  const replicas: Replica[] = [];
  t.after(async () => {
    await Promise.all(replicas.map(({ leading }) => leading.stop()));
    await user.close();
    await server.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return {
    user,
    add(identity: string): Replica {
      const raw = createClient({ endpoint: unixEndpoint(socket), clock: systemClock, timeoutMs: 1_000 });
      t.after(() => raw.close());
      const replica = { failures: [], client: undefined, cut: false, writes: [] } as unknown as Replica;
      const seen = watchedClient(raw, replica);
      const leading = startLeading({
        ...common,
        client: seen,
        namespace: 'default',
        identity,
        leaseSeconds,
        work(client, signal) {
          replica.client = client;
          const drivers = [new MemoryDriver(machine)];
          return startManager({
            ...common,
            client,
            signal,
            drivers,
            host: { codeRoot: '/' },
            homeNamespace: 'default',
            identity,
          });
        },
        onFailed: (message) => void replica.failures.push(message),
      });
      Object.assign(replica, { leading });
      replicas.push(replica);
      return replica;
    },
    leaders: () => replicas.filter(({ leading }) => leading.leads),
  };
}

/** Notes writes, and fails everything while the replica is cut off. */
function watchedClient(client: Client, replica: Replica): Client {
  return new Proxy(client, {
    get(target, name, receiver) {
      const value: unknown = Reflect.get(target, name, receiver);
      if (typeof value !== 'function' || name === 'close') return value;
      return async (...args: unknown[]) => {
        if (replica.cut) throw new TransportError('ConnectFailed', 'cut off');
        const [resource] = args as [{ kind?: string } | undefined];
        const isWrite = ['create', 'update', 'patch', 'apply', 'applyStatus', 'delete'].includes(
          String(name),
        );
        if (isWrite && resource?.kind !== 'Lease') replica.writes.push(performance.now());
        return Reflect.apply(value, target, args);
      };
    },
  });
}

async function until(holds: () => boolean | Promise<boolean>, withinMs = 20_000): Promise<number> {
  const begun = performance.now();
  while (!(await holds())) {
    assert.ok(performance.now() - begun < withinMs, 'it does not come about');
    await systemClock.sleep(5);
  }
  return performance.now() - begun;
}

/** Whether the Agent's status speaks of its spec. */
async function isReconciled(user: Client, name: string): Promise<boolean> {
  const agent = await user.get<Agent>(agentResource, { namespace: 'default', name });
  return agent.status?.observedGeneration === agent.metadata.generation;
}

function bare(name: string): Agent {
  const { metadata, ...agent } = agentNamed(name);
  return { ...agent, metadata: { name: metadata.name, namespace: 'default' } };
}

test(
  'the Lease of a leader that stops is the other one’s at once, and its work goes on there',
  bounded,
  async (t) => {
    const { user, add } = await onStage(t);
    const a = add('a');
    await until(() => a.leading.leads && a.leading.ready);
    const b = add('b');
    await user.create(agentResource, bare('one'));
    await until(() => isReconciled(user, 'one'));
    assert.equal(b.leading.leads, false);
    assert.equal(b.leading.ready, true, 'who follows is ready too');
    assert.equal(b.writes.length, 0);
    await a.leading.stop();
    const tookMs = await until(() => b.leading.leads);
    t.diagnostic(`handed over after ${Math.round(tookMs)} ms`);
    assert.ok(tookMs < 1_000, `${tookMs} ms, with a lease of ${leaseSeconds} s`);
    await user.create(agentResource, bare('two'));
    await until(() => isReconciled(user, 'two'));
    assert.deepEqual([a.failures, b.failures], [[], []]);
  },
);

test(
  'a leader that is cut off is replaced within the lease, and never do two of them act',
  bounded,
  async (t) => {
    const { user, add, leaders } = await onStage(t);
    const a = add('a');
    await until(() => a.leading.leads && a.leading.ready);
    const b = add('b');
    let mostAtOnce = 0;
    const sampling = setInterval(() => {
      mostAtOnce = Math.max(mostAtOnce, leaders().length);
    }, 1);
    t.after(() => clearInterval(sampling));
    await systemClock.sleep(1_000);
    a.cut = true;
    const tookMs = await until(() => b.leading.leads && b.leading.ready);
    t.diagnostic(`taken over after ${Math.round(tookMs)} ms`);
    assert.ok(tookMs < (leaseSeconds + 1.5) * 1000, `${tookMs} ms`);
    await until(() => a.failures.length > 0);
    assert.deepEqual(a.failures, ['leadership lost']);
    a.cut = false;
    await user.create(agentResource, bare('one'));
    await until(() => isReconciled(user, 'one'));
    await systemClock.sleep(500);
    const first = b.writes[0] ?? Number.POSITIVE_INFINITY;
    assert.ok(
      a.writes.every((at) => at < first),
      'who lost the Lease writes no more, although it still runs',
    );
    assert.equal(mostAtOnce, 1);
  },
);

test(
  'a process that wakes up after its lease ran out refuses to write before it has looked',
  bounded,
  async (t) => {
    const { add } = await onStage(t);
    const a = add('a');
    await until(() => a.leading.leads && a.client !== undefined);
    a.cut = true;
    await until(() => !a.leading.leads);
    const write = a.client?.create(agentResource, bare('late'));
    assert.equal(await write?.then(() => undefined, codeOf), 'NotLeader');
    const read = a.client?.list(agentResource);
    assert.equal(await read?.then(() => undefined, codeOf), 'ConnectFailed', 'reads pass');
  },
);
