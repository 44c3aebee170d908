import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createResolver } from './resolve.ts';
import { buildRoutingTable } from './table.ts';
import { agentNamed, routeNamed } from './testing.ts';

const demo = agentNamed('demo');
const route = routeNamed('r', { agents: [{ name: 'demo' }], paths: ['/one/longer/place'], api: {} });
const table = buildRoutingTable({
  agents: [demo],
  routes: [route],
  homeNamespace: 'default',
  hostClaims: {},
});

test('a path of nothing but slashes costs no more than the longest path that is served', () => {
  const resolve = createResolver(table);
  const path = '/'.repeat(32 * 1024);
  resolve('localhost', path);
  const begun = performance.now();
  for (let count = 0; count < 10; count += 1) resolve('localhost', path.slice(count));
  assert.ok(performance.now() - begun < 200, `${performance.now() - begun} ms`);
});

test('the longest path that is served is found, exactly and with more or less behind it', () => {
  const resolve = createResolver(table);
  const at = (path: string) => {
    const found = resolve('localhost', path);
    return found.kind === 'api' ? found.rest : found.kind;
  };
  assert.equal(at('/one/longer/place/apis/demo'), '/');
  assert.equal(at('/one/longer/place/apis/demo/x'), '/x');
  assert.equal(at(`/one/longer/place/apis/demo/${'x/'.repeat(500)}`), `/${'x/'.repeat(500)}`);
  assert.equal(at('/one/longer/place/apisx/demo'), 'none');
});
