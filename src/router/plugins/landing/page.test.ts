import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildRoutingTable } from '#routing/table.ts';
import { agentNamed, routeNamed } from '#routing/testing.ts';
import { landingPage } from './page.ts';

const tenant = agentNamed('far', { namespace: 'tenant' });
const spec = { selector: {}, hosts: ['far.example.org'], paths: ['/secret-mcp'], mcp: {} };
const route = routeNamed('r', spec, { namespace: 'tenant' });
const rules = { homeNamespace: 'default', hostClaims: { tenant: ['*.example.org'] } };
const table = buildRoutingTable({ agents: [agentNamed('demo'), tenant], routes: [route], ...rules });
const pageAt = (host: string, of = table) =>
  landingPage(of, { host, origin: `http://${host}:8080` }, '1.2.3');

test('the page shows what appears at the host that was asked, and nothing of another namespace', () => {
  const home = pageAt('localhost');
  assert.match(home, /http:\/\/localhost:8080\/mcps\/demo\/mcp/);
  assert.doesNotMatch(home, /far|secret-mcp/);
  const far = pageAt('far.example.org');
  assert.match(far, /http:\/\/far\.example\.org:8080\/secret-mcp/);
  assert.doesNotMatch(far, /demo|None that/);
});

test('a page without agents says how to make one, and speaks of no workspace', () => {
  const page = pageAt('localhost', buildRoutingTable({ agents: [], routes: [], ...rules }));
  assert.match(page, /ploinky apply -f agent\.yaml/);
  assert.doesNotMatch(page, /workspace/);
});

test('what asks who comes is not shown to everybody', () => {
  const asks = { auth: { mode: 'pwd' as const } };
  const payroll = agentNamed('payroll');
  const agents = [agentNamed('demo'), { ...payroll, spec: { ...payroll.spec, ...asks } }];
  const of = buildRoutingTable({
    ...{ agents, ...rules },
    routes: [routeNamed('hidden', { selector: {}, paths: ['/board'], mcp: {}, ...asks })],
  });
  const page = pageAt('localhost', of);
  assert.match(page, /mcps\/demo\/mcp/);
  assert.match(page, /\/mcp<\/code><\/td><td>1 agent</);
  assert.doesNotMatch(page, /payroll|board/);
});
