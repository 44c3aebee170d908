import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { KubeObject } from '#api/meta.ts';
import { silentLog } from '#kit/log.ts';
import { systemRandom } from '#kit/random.ts';
import { createClient } from '#kube/client.ts';
import { endpointFromAddress } from '#kube/endpoint.ts';
import { createEventRecorder, type EventRecorder } from '#kube/events.ts';
import { createFakeClock, type FakeClock, until } from '#test/fixtures/fake-clock.ts';
import { FakeApi } from './fake-api.ts';

const bounded = { timeout: 20_000 };

const agent: KubeObject = {
  apiVersion: 'ploinky.dev/v1alpha1',
  kind: 'Agent',
  metadata: { namespace: 'default', name: 'demo', uid: 'u1', resourceVersion: '5' },
};

interface Written {
  readonly count: number;
  readonly message: string;
  readonly reason: string;
  readonly involvedObject: { readonly uid: string };
}

async function onStage(
  run: (stage: {
    api: FakeApi;
    clock: FakeClock;
    recorder: EventRecorder;
    written: () => Written[];
  }) => Promise<void>,
  options: { maxPending?: number } = {},
): Promise<void> {
  const api = new FakeApi();
  await api.listen();
  const clock = createFakeClock();
  const client = createClient({ endpoint: endpointFromAddress(api.address), clock });
  const common = { client, clock, random: systemRandom, log: silentLog };
  const recorder = createEventRecorder({
    ...common,
    component: 'ploinky-controller',
    instance: 'host',
    ...options,
  });
  try {
    await run({
      api,
      clock,
      recorder,
      written: () => api.store('events').list('default') as unknown as Written[],
    });
  } finally {
    const stopping = recorder.stop();
    await clock.advance(60_000);
    await stopping;
    await client.close();
    await api.stop();
  }
}

describe('the event recorder', () => {
  test('writes one Event and raises its count when it repeats', bounded, () =>
    onStage(async ({ api, recorder, written }) => {
      recorder.event(agent, 'Normal', 'Started', 'The agent started.');
      await until(() => written().length === 1, 'the first event');
      recorder.event(agent, 'Normal', 'Started', 'The agent started.');
      await until(() => written()[0]?.count === 2, 'the count');
      recorder.event(agent, 'Warning', 'Failed', 'It failed.');
      await until(() => written().length === 2, 'the second event');
      assert.equal(
        written().every((event) => event.involvedObject.uid === 'u1'),
        true,
      );
      assert.deepEqual([api.count('create'), api.count('patch')], [2, 1]);
    }),
  );

  test('writes repeats that came while it could not write as one', bounded, () =>
    onStage(async ({ api, clock, recorder, written }) => {
      api.fail('create', { kind: 'status', status: 500 });
      for (let i = 0; i < 10; i++) recorder.event(agent, 'Normal', 'Started', 'The agent started.');
      await until(() => api.count('create') === 1, 'the failed write');
      await clock.advance(500);
      await until(() => written()[0]?.count === 10, 'all ten in the count');
      assert.equal(api.requests.length <= 4, true);
    }),
  );

  test('creates an Event anew when the old one has expired', bounded, () =>
    onStage(async ({ api, recorder, written }) => {
      recorder.event(agent, 'Normal', 'Started', 'The agent started.');
      await until(() => written().length === 1, 'the event');
      const [event] = api.store('events').list('default');
      api.store('events').remove('default', event?.metadata.name ?? '');
      recorder.event(agent, 'Normal', 'Started', 'The agent started.');
      await until(() => written()[0]?.count === 2, 'the event again');
    }),
  );

  test('combines events that differ only in their message after ten', bounded, () =>
    onStage(async ({ recorder, written }) => {
      for (let i = 0; i < 15; i++) recorder.event(agent, 'Warning', 'Failed', `Attempt ${i} failed.`);
      await until(() => written().some((event) => event.count === 5), 'the combined event');
      assert.equal(written().length, 11);
      assert.equal(written().filter((event) => event.message.startsWith('(combined from similar')).length, 1);
    }),
  );

  test('drops what one noisy object reports beyond its burst, and nothing of another', bounded, () =>
    onStage(async ({ clock, recorder, written }) => {
      for (let i = 0; i < 200; i++) recorder.event(agent, 'Warning', 'Failed', 'It failed.');
      const other = { ...agent, metadata: { ...agent.metadata, name: 'other', uid: 'u2' } };
      recorder.event(other, 'Normal', 'Started', 'The agent started.');
      await until(
        () => written().length === 2 && written().some((event) => event.count === 25),
        'both events',
      );
      await clock.advance(300_000);
      recorder.event(agent, 'Warning', 'Failed', 'It failed.');
      await until(() => written().some((event) => event.count === 26), 'one more after five minutes');
    }),
  );

  test('never blocks or grows without bound while the API is silent', bounded, () =>
    onStage(
      async ({ api, recorder }) => {
        api.fail('create', { kind: 'silence' }, Number.POSITIVE_INFINITY);
        for (let i = 0; i < 1_000; i++) {
          const about = { ...agent, metadata: { ...agent.metadata, name: `a${i}`, uid: `u${i}` } };
          recorder.event(about, 'Normal', 'Started', 'The agent started.');
        }
        await until(() => api.count('create') === 1, 'the first write');
        await new Promise((resolve) => setTimeout(resolve, 20));
        assert.equal(api.count('create'), 1);
      },
      { maxPending: 50 },
    ),
  );
});
