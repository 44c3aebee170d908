import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse } from 'yaml';
import { routeSpecSchema } from '#api/route.ts';
import { notServed } from './served-at.ts';

test('a namespace that no Route serves is told how to make one', () => {
  const { remedy = '' } = notServed('team-a', 'home', []);
  assert.match(remedy, /routers serve only namespace home/);
  const text = remedy.split('\n').filter((line) => line.startsWith('    '));
  const route = parse(text.join('\n')) as { metadata: object; spec: object };
  assert.deepEqual(route.metadata, { name: 'tools', namespace: 'team-a' });
  assert.deepEqual(routeSpecSchema.parse({ ...route.spec, hosts: ['a.test'] }).hosts, ['a.test']);
});
