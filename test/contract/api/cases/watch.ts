import assert from 'node:assert/strict';
import { widget } from '../fixtures/widget.ts';
import { type Bench, type Case, expectStatus, mergeType, widgets } from '../suite.ts';

const show = (events: readonly { type: string; object: { metadata: { name?: string } } }[]) =>
  events
    .filter((event) => event.type !== 'BOOKMARK')
    .map((event) => `${event.type} ${event.object.metadata.name}`);

async function create(
  { client }: Bench,
  namespace: string,
  name: string,
  labels: Record<string, string> = {},
) {
  return expectStatus(
    await client.send('POST', widgets(namespace), { body: widget(name, {}, { labels }) }),
    201,
  ).body;
}

export const watchCases: Case[] = [
  {
    name: 'a watch from a version sends every later change once and in order',
    async run(bench) {
      const namespace = await bench.namespace();
      const first = await create(bench, namespace, 'a');
      await create(bench, namespace, 'b');
      const stream = await bench.client.watch(
        widgets(namespace, '', `?watch=1&resourceVersion=${first.metadata.resourceVersion}`),
      );
      await bench.client.send('PATCH', widgets(namespace, 'a'), {
        body: { spec: { size: 2 } },
        type: mergeType,
      });
      await bench.client.send('DELETE', widgets(namespace, 'b'));
      const events = await stream.until((seen) => seen.length >= 3);
      stream.close();
      assert.deepEqual(show(events), ['ADDED b', 'MODIFIED a', 'DELETED b']);
      const versions = events.map((event) => Number(event.object.metadata.resourceVersion));
      assert.deepEqual(
        versions,
        versions.toSorted((left, right) => left - right),
      );
      assert.equal(new Set(versions).size, 3, 'a removal has a version of its own');
    },
  },
  {
    name: 'a watch without a version begins with what is there',
    async run(bench) {
      const namespace = await bench.namespace();
      await create(bench, namespace, 'a');
      await create(bench, namespace, 'b');
      const stream = await bench.client.watch(widgets(namespace, '', '?watch=true&timeoutSeconds=1'));
      const events = await stream.end();
      assert.deepEqual(show(events).sort(), ['ADDED a', 'ADDED b']);
    },
  },
  {
    name: 'sendInitialEvents ends the present state with an annotated bookmark',
    async run(bench) {
      const namespace = await bench.namespace();
      await create(bench, namespace, 'a');
      const query =
        '?watch=true&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan';
      const stream = await bench.client.watch(widgets(namespace, '', query));
      const events = await stream.until((seen) => seen.some((event) => event.type === 'BOOKMARK'));
      assert.deepEqual(
        events.map((event) => event.type),
        ['ADDED', 'BOOKMARK'],
      );
      assert.equal(events[1]?.object.metadata.annotations['k8s.io/initial-events-end'], 'true');
      assert.ok(
        Number(events[1]?.object.metadata.resourceVersion) >=
          Number(events[0]?.object.metadata.resourceVersion),
      );
      await create(bench, namespace, 'b');
      assert.deepEqual(show(await stream.until((seen) => seen.length >= 3)), ['ADDED a', 'ADDED b']);
      stream.close();
      const refused = await bench.client.get(widgets(namespace, '', '?watch=true&sendInitialEvents=true'));
      assert.equal(refused.status, 422);
      assert.match(
        refused.body.message,
        /resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan/,
      );
    },
  },
  {
    name: 'an object that enters or leaves a selection is ADDED or DELETED',
    async run(bench) {
      const namespace = await bench.namespace();
      const object = await create(bench, namespace, 'a', { pick: 'no' });
      const stream = await bench.client.watch(
        widgets(
          namespace,
          '',
          `?watch=1&labelSelector=pick%3Dyes&resourceVersion=${object.metadata.resourceVersion}`,
        ),
      );
      const label = (pick: string) =>
        bench.client.send('PATCH', widgets(namespace, 'a'), {
          body: { metadata: { labels: { pick } } },
          type: mergeType,
        });
      await label('yes');
      await bench.client.send('PATCH', widgets(namespace, 'a'), {
        body: { spec: { size: 3 } },
        type: mergeType,
      });
      await label('no');
      await label('yes');
      const events = await stream.until((seen) => seen.length >= 4);
      stream.close();
      assert.deepEqual(show(events), ['ADDED a', 'MODIFIED a', 'DELETED a', 'ADDED a']);
    },
  },
  {
    name: 'a watch of one name and of another namespace sees nothing else',
    async run(bench) {
      const namespace = await bench.namespace();
      const other = await bench.namespace();
      const object = await create(bench, namespace, 'a');
      const stream = await bench.client.watch(
        widgets(
          namespace,
          '',
          `?watch=1&fieldSelector=metadata.name%3Db&resourceVersion=${object.metadata.resourceVersion}`,
        ),
      );
      await create(bench, other, 'b');
      await create(bench, namespace, 'c');
      await create(bench, namespace, 'b');
      const events = await stream.until((seen) => seen.length >= 1);
      stream.close();
      assert.deepEqual(show(events), ['ADDED b']);
    },
  },
  {
    name: 'table and metadata watches send rows and metadata',
    async run(bench) {
      const namespace = await bench.namespace();
      await create(bench, namespace, 'a');
      const accept = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' };
      const stream = await bench.client.watch(widgets(namespace, '', '?watch=1'), accept);
      await create(bench, namespace, 'b');
      const events = await stream.until((seen) => seen.length >= 2);
      stream.close();
      assert.deepEqual(
        events.map((event) => event.object.kind),
        ['Table', 'Table'],
      );
      assert.deepEqual(
        events.map((event) => event.object.rows[0].cells[0]),
        ['a', 'b'],
      );
      assert.ok(events[0]?.object.columnDefinitions.length > 0);
      const partial = { accept: 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io' };
      const second = await bench.client.watch(widgets(namespace, '', '?watch=1'), partial);
      const [event] = await second.until((seen) => seen.length >= 1);
      second.close();
      assert.equal(event?.object.kind, 'PartialObjectMetadata');
      assert.equal(event?.object.spec, undefined);
    },
  },
  {
    name: 'a watch from before what the server remembers is told so in its stream: 410, list again',
    async run(bench) {
      const namespace = await bench.namespace();
      await create(bench, namespace, 'a');
      for (let round = 0; round < 201; round += 1)
        await bench.client.send('PATCH', widgets(namespace, 'a'), {
          body: { spec: { size: round % 2 } },
          type: mergeType,
        });
      const stream = await bench.client.watch(widgets(namespace, '', '?watch=1&resourceVersion=1'));
      const [event] = await stream.end();
      assert.equal(stream.status, 200);
      assert.equal(event?.type, 'ERROR');
      assert.deepEqual([event?.object.kind, event?.object.code], ['Status', 410]);
      assert.equal(event?.object.reason, 'Expired');
      assert.match(event?.object.message, /^too old resource version: 1 \(\d+\)$/);
    },
  },
  {
    name: 'a watch resumes after the version of a bookmark',
    async run(bench) {
      const namespace = await bench.namespace();
      await create(bench, namespace, 'a');
      const query =
        '?watch=true&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan';
      const first = await bench.client.watch(widgets(namespace, '', query));
      const seen = await first.until((events) => events.at(-1)?.type === 'BOOKMARK');
      first.close();
      await create(bench, namespace, 'b');
      await bench.client.send('DELETE', widgets(namespace, 'a'));
      const version = seen.at(-1)?.object.metadata.resourceVersion;
      const second = await bench.client.watch(widgets(namespace, '', `?watch=1&resourceVersion=${version}`));
      const events = await second.until((all) => all.length >= 2);
      second.close();
      assert.deepEqual(show(events), ['ADDED b', 'DELETED a']);
    },
  },
  {
    name: 'a watch from a version of the future waits in silence',
    async run(bench) {
      const namespace = await bench.namespace();
      const query = '?watch=1&timeoutSeconds=1&resourceVersion=99999999';
      const stream = await bench.client.watch(widgets(namespace, '', query));
      await create(bench, namespace, 'a');
      assert.equal(stream.status, 200);
      assert.deepEqual(await stream.end(), []);
    },
  },
];
