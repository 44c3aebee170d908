import assert from 'node:assert/strict';
import { widget } from '../fixtures/widget.ts';
import { type Bench, type Case, core, eventually, expectStatus, mergeType, widgets } from '../suite.ts';

async function create(
  { client }: Bench,
  namespace: string,
  name: string,
  metadata: Record<string, unknown> = {},
) {
  return expectStatus(
    await client.send('POST', widgets(namespace), { body: widget(name, {}, metadata) }),
    201,
  ).body;
}

const ownedBy = (owner: { metadata: { name: string; uid: string } }, more: Record<string, unknown> = {}) => ({
  ownerReferences: [
    {
      apiVersion: 'contract.ploinky.dev/v1',
      kind: 'Widget',
      name: owner.metadata.name,
      uid: owner.metadata.uid,
      ...more,
    },
  ],
});

const isGone = ({ client }: Bench, path: string) =>
  eventually(async () => ((await client.get(path)).status === 404 ? true : undefined));

export const collectCases: Case[] = [
  {
    name: 'dependents go in the background, in their generations',
    async run(bench) {
      const namespace = await bench.namespace();
      const parent = await create(bench, namespace, 'parent');
      const child = await create(bench, namespace, 'child', ownedBy(parent));
      await create(bench, namespace, 'grandchild', ownedBy(child));
      const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'kept', ...ownedBy(parent) } };
      expectStatus(await bench.client.send('POST', core(namespace, 'secrets'), { body: secret }), 201);
      expectStatus(await bench.client.send('DELETE', widgets(namespace, 'parent')), 200);
      for (const path of [
        widgets(namespace, 'child'),
        widgets(namespace, 'grandchild'),
        core(namespace, 'secrets', 'kept'),
      ])
        await isGone(bench, path);
    },
  },
  {
    name: 'an object with another owner left stays, without the reference that is gone',
    async run(bench) {
      const namespace = await bench.namespace();
      const one = await create(bench, namespace, 'one');
      const two = await create(bench, namespace, 'two');
      const both = [...ownedBy(one).ownerReferences, ...ownedBy(two).ownerReferences];
      await create(bench, namespace, 'shared', { ownerReferences: both });
      await bench.client.send('DELETE', widgets(namespace, 'one'));
      const left = await eventually(async () => {
        const { body } = await bench.client.get(widgets(namespace, 'shared'));
        return body.metadata.ownerReferences.length === 1 ? body.metadata.ownerReferences : undefined;
      });
      assert.equal(left[0].uid, two.metadata.uid);
    },
  },
  {
    name: 'orphaning keeps dependents, foreground deletion waits for those that block',
    async run(bench) {
      const namespace = await bench.namespace();
      const parent = await create(bench, namespace, 'parent');
      await create(bench, namespace, 'orphan', ownedBy(parent));
      await bench.client.send('DELETE', widgets(namespace, 'parent'), {
        body: { propagationPolicy: 'Orphan' },
      });
      await isGone(bench, widgets(namespace, 'parent'));
      const orphan = expectStatus(await bench.client.get(widgets(namespace, 'orphan')), 200).body;
      assert.equal(orphan.metadata.ownerReferences, undefined);
      const head = await create(bench, namespace, 'head');
      await create(bench, namespace, 'tail', {
        ...ownedBy(head, { blockOwnerDeletion: true }),
        finalizers: ['contract.ploinky.dev/hold'],
      });
      const answer = expectStatus(
        await bench.client.send('DELETE', widgets(namespace, 'head'), {
          body: { propagationPolicy: 'Foreground' },
        }),
        200,
      ).body;
      assert.deepEqual(answer.metadata.finalizers, ['foregroundDeletion']);
      await eventually(async () => {
        const { body } = await bench.client.get(widgets(namespace, 'tail'));
        return body.metadata.deletionTimestamp;
      });
      expectStatus(await bench.client.get(widgets(namespace, 'head')), 200);
      await bench.client.send('PATCH', widgets(namespace, 'tail'), {
        body: { metadata: { finalizers: null } },
        type: mergeType,
      });
      await isGone(bench, widgets(namespace, 'tail'));
      await isGone(bench, widgets(namespace, 'head'));
    },
  },
  {
    name: 'a namespace takes its objects along and takes no new ones meanwhile',
    async run(bench) {
      const namespace = await bench.namespace();
      await create(bench, namespace, 'held', { finalizers: ['contract.ploinky.dev/hold'] });
      await create(bench, namespace, 'free');
      const deleted = expectStatus(
        await bench.client.send('DELETE', `/api/v1/namespaces/${namespace}`),
        200,
      ).body;
      assert.equal(deleted.status.phase, 'Terminating');
      const refused = await bench.client.send('POST', widgets(namespace), { body: widget('late') });
      assert.equal(refused.status, 403);
      assert.match(refused.body.message, /because it is being terminated/);
      await isGone(bench, widgets(namespace, 'free'));
      await bench.client.send('PATCH', widgets(namespace, 'held'), {
        body: { metadata: { finalizers: null } },
        type: mergeType,
      });
      await isGone(bench, `/api/v1/namespaces/${namespace}`);
    },
  },
];
