import assert from 'node:assert/strict';
import { type Case, expectStatus } from '../suite.ts';

export const discoveryCases: Case[] = [
  {
    name: 'health and version answer',
    async run({ client }) {
      for (const path of ['/healthz', '/readyz', '/livez'])
        assert.equal(expectStatus(await client.get(path), 200).text, 'ok');
      assert.match(expectStatus(await client.get('/version'), 200).body.gitVersion, /^v1\.36\./);
    },
  },
  {
    name: 'groups, kinds and subresources are listed, plain and aggregated',
    async run({ client }) {
      const groups = expectStatus(await client.get('/apis'), 200).body.groups.map(
        (group: { name: string }) => group.name,
      );
      for (const group of ['contract.ploinky.dev', 'ploinky.dev', 'coordination.k8s.io', 'events.k8s.io'])
        assert.ok(groups.includes(group), group);
      const { resources } = expectStatus(await client.get('/apis/contract.ploinky.dev/v1'), 200).body;
      assert.deepEqual(
        resources.map((one: { name: string }) => one.name),
        ['widgets', 'widgets/status', 'widgets/scale'],
      );
      const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json';
      const answer = expectStatus(await client.get('/apis', { accept }), 200);
      assert.match(String(answer.headers['content-type']), /as=APIGroupDiscoveryList/);
      const own = answer.body.items.find(
        (item: { metadata: { name: string } }) => item.metadata.name === 'contract.ploinky.dev',
      );
      const [widgets] = own.versions[0].resources;
      assert.equal(widgets.responseKind.kind, 'Widget');
      assert.deepEqual(
        widgets.subresources.map((one: { subresource: string }) => one.subresource),
        ['status', 'scale'],
      );
    },
  },
  {
    name: 'OpenAPI v3 describes each group with its schemas and patch parameters',
    async run({ client }) {
      const { paths } = expectStatus(await client.get('/openapi/v3'), 200).body;
      const url = paths['apis/contract.ploinky.dev/v1'].serverRelativeURL;
      const document = expectStatus(await client.get(url), 200).body;
      const schema = document.components.schemas['dev.ploinky.contract.v1.Widget'];
      assert.equal(schema.properties.spec.properties.size.type, 'integer');
      const patch =
        document.paths['/apis/contract.ploinky.dev/v1/namespaces/{namespace}/widgets/{name}'].patch;
      const names = patch.parameters.map((one: { name: string }) => one.name);
      for (const name of ['dryRun', 'fieldManager', 'fieldValidation', 'force'])
        assert.ok(names.includes(name), name);
      assert.equal(patch['x-kubernetes-group-version-kind'].kind, 'Widget');
    },
  },
];
