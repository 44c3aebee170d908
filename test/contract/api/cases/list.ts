import assert from 'node:assert/strict';
import { widget } from '../fixtures/widget.ts';
import { type Bench, type Case, eventually, expectFailure, expectStatus, widgets } from '../suite.ts';

async function make({ client }: Bench, namespace: string, names: readonly string[]): Promise<void> {
  for (const name of names)
    expectStatus(
      await client.send('POST', widgets(namespace), {
        body: widget(name, {}, { labels: { n: name, odd: String(names.indexOf(name) % 2) } }),
      }),
      201,
    );
}

const namesOf = (body: { items: { metadata: { name: string } }[] }) =>
  body.items.map((item) => item.metadata.name);

export const listCases: Case[] = [
  {
    name: 'pages show one moment, whatever happens between them',
    async run(bench) {
      const { client } = bench;
      const namespace = await bench.namespace();
      await make(bench, namespace, ['a', 'b', 'c', 'd', 'e']);
      const first = expectStatus(await client.get(widgets(namespace, '', '?limit=2')), 200).body;
      assert.deepEqual(namesOf(first), ['a', 'b']);
      assert.equal(first.metadata.remainingItemCount, 3);
      await client.send('DELETE', widgets(namespace, 'c'));
      await make(bench, namespace, ['bb']);
      await client.send('PATCH', widgets(namespace, 'd'), {
        body: { spec: { size: 9 } },
        type: 'application/merge-patch+json',
      });
      const token = encodeURIComponent(first.metadata.continue);
      const second = expectStatus(
        await client.get(widgets(namespace, '', `?limit=2&continue=${token}`)),
        200,
      ).body;
      assert.deepEqual(namesOf(second), ['c', 'd']);
      assert.equal(second.items[1].spec.size, 1);
      assert.equal(second.metadata.resourceVersion, first.metadata.resourceVersion);
      const last = expectStatus(
        await client.get(
          widgets(namespace, '', `?limit=2&continue=${encodeURIComponent(second.metadata.continue)}`),
        ),
        200,
      ).body;
      assert.deepEqual(namesOf(last), ['e']);
      assert.equal(last.metadata.continue, '');
    },
  },
  {
    name: 'a list at any version comes whole, whatever the limit',
    async run(bench) {
      const namespace = await bench.namespace();
      await make(bench, namespace, ['a', 'b', 'c']);
      // The real server answers from a cache, which may be behind for a moment.
      const body = await eventually(async () => {
        const answer = await bench.client.get(widgets(namespace, '', '?resourceVersion=0&limit=1'));
        return answer.body.items?.length > 0 ? answer.body : undefined;
      });
      assert.equal(body.metadata.continue, '');
      await eventually(async () => {
        const answer = await bench.client.get(widgets(namespace, '', '?resourceVersion=0&limit=1'));
        return namesOf(answer.body).join() === 'a,b,c' ? true : undefined;
      });
    },
  },
  {
    name: 'label selectors choose by equality, set and presence',
    async run(bench) {
      const namespace = await bench.namespace();
      await make(bench, namespace, ['a', 'b', 'c', 'd']);
      const select = async (selector: string) =>
        namesOf(
          expectStatus(
            await bench.client.get(widgets(namespace, '', `?labelSelector=${encodeURIComponent(selector)}`)),
            200,
          ).body,
        );
      assert.deepEqual(await select('odd=1'), ['b', 'd']);
      assert.deepEqual(await select('odd==0,n!=a'), ['c']);
      assert.deepEqual(await select('n in (a, d)'), ['a', 'd']);
      assert.deepEqual(await select('n notin (a,d),odd'), ['b', 'c']);
      assert.deepEqual(await select('!odd'), []);
      assert.deepEqual(await select('odd>0'), ['b', 'd']);
      assert.deepEqual(await select('other notin (x)'), ['a', 'b', 'c', 'd']);
    },
  },
  {
    name: 'a list across namespaces has the objects of all, a bad token is refused',
    async run(bench) {
      const one = await bench.namespace();
      const two = await bench.namespace();
      await make(bench, one, ['x']);
      await make(bench, two, ['x']);
      const all = expectStatus(await bench.client.get('/apis/contract.ploinky.dev/v1/widgets'), 200).body;
      const found = all.items.filter((item: { metadata: { namespace: string } }) =>
        [one, two].includes(item.metadata.namespace),
      );
      assert.equal(found.length, 2);
      expectFailure(await bench.client.get(widgets(one, '', '?continue=bogus')), 400, 'BadRequest');
      expectFailure(await bench.client.get(widgets(one, '', '?resourceVersion=bogus')), 400, 'BadRequest');
    },
  },
  {
    name: 'a list at an exact version shows the past, one from the future waits in vain',
    async run(bench) {
      const namespace = await bench.namespace();
      await make(bench, namespace, ['a']);
      const then = expectStatus(await bench.client.get(widgets(namespace)), 200).body.metadata
        .resourceVersion;
      await make(bench, namespace, ['b']);
      const past = expectStatus(
        await bench.client.get(widgets(namespace, '', `?resourceVersion=${then}&resourceVersionMatch=Exact`)),
        200,
      ).body;
      assert.deepEqual(namesOf(past), ['a']);
      expectFailure(
        await bench.client.get(widgets(namespace, '', '?resourceVersion=99999999999')),
        504,
        'Timeout',
        /Too large resource version/,
      );
    },
  },
  {
    name: 'generateName makes names that differ, PUT and DELETE follow versions',
    async run(bench) {
      const { client } = bench;
      const namespace = await bench.namespace();
      const body = { ...widget('x'), metadata: { generateName: 'gen-' } };
      const made = [];
      for (let count = 0; count < 3; count += 1)
        made.push(expectStatus(await client.send('POST', widgets(namespace), { body }), 201).body);
      assert.equal(new Set(made.map((object) => object.metadata.name)).size, 3);
      for (const object of made) assert.match(object.metadata.name, /^gen-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
      const [object] = made;
      const path = widgets(namespace, object.metadata.name);
      const updated = expectStatus(
        await client.send('PUT', path, { body: { ...object, spec: { size: 2 } } }),
        200,
      ).body;
      assert.equal(updated.metadata.generation, 2);
      assert.notEqual(updated.metadata.resourceVersion, object.metadata.resourceVersion);
      expectFailure(
        await client.send('PUT', path, { body: { ...object, spec: { size: 3 } } }),
        409,
        'Conflict',
        /the object has been modified/,
      );
      const same = expectStatus(await client.send('PUT', path, { body: updated }), 200).body;
      assert.equal(
        same.metadata.resourceVersion,
        updated.metadata.resourceVersion,
        'an update that changes nothing writes nothing',
      );
      const stale = { preconditions: { resourceVersion: object.metadata.resourceVersion } };
      expectFailure(await client.send('DELETE', path, { body: stale }), 409, 'Conflict');
      const fresh = {
        preconditions: { resourceVersion: updated.metadata.resourceVersion, uid: updated.metadata.uid },
      };
      expectStatus(await client.send('DELETE', path, { body: fresh }), 200);
      expectFailure(await client.get(path), 404, 'NotFound');
      const collection = expectStatus(await client.send('DELETE', widgets(namespace)), 200);
      assert.equal(collection.body.items.length, 2);
      assert.equal(expectStatus(await client.get(widgets(namespace)), 200).body.items.length, 0);
    },
  },
];
