import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createResolver } from './resolve.ts';
import { buildRoutingTable } from './table.ts';
import { agentNamed, routeNamed } from './testing.ts';

const home = { homeNamespace: 'default', hostClaims: {} };

test('a Route that asks who comes asks for names of no agent too, so that nobody learns which there are', () => {
  const at = { hosts: ['team.example.org'], auth: { mode: 'pwd' as const } };
  const many = routeNamed('many', { selector: {}, ...at, api: { path: '/apis' }, blobs: { path: '/blobs' } });
  const single = routeNamed('one', {
    agents: [{ name: 'zzz' }],
    ...at,
    paths: ['/one'],
    mcp: { mode: 'Single' },
  });
  const resolve = createResolver(
    buildRoutingTable({ ...home, agents: [agentNamed('demo')], routes: [many, single] }),
  );
  const asked = (path: string) => {
    const found = resolve('team.example.org', path);
    return [found.kind, 'surface' in found ? found.surface?.access?.realm : undefined];
  };
  assert.deepEqual(asked('/apis/demo/x'), ['api', 'default/many-users']);
  assert.deepEqual(asked('/apis/zzz/x'), ['unknown-agent', 'default/many-users']);
  assert.deepEqual(asked('/blobs/zzz'), ['unknown-agent', 'default/many-users']);
  assert.deepEqual(asked('/one/mcp'), ['unknown-agent', 'default/one-users']);
});
