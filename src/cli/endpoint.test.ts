import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Client } from '#kube/client.ts';
import { ApiError } from '#kube/errors.ts';
import { findEndpoint, urlOf } from './endpoint.ts';
import { exitCodeOf } from './errors.ts';
import type { Router } from './router.ts';

const router: Router = { url: 'http://127.0.0.1:8080' };
const accepted = { conditions: [{ type: 'Accepted', status: 'True' }] };
const route = (spec: object, status: object = accepted) => ({
  metadata: { name: 'r' },
  spec: { hosts: [], paths: ['/'], mcp: {}, ...spec },
  status,
});

function sessionWith(objects: Record<string, object>) {
  const get = async (_resource: unknown, { name }: { name: string }) => {
    if (objects[name] !== undefined) return objects[name];
    throw new ApiError({ status: 404, reason: 'NotFound', message: 'not found' });
  };
  return { client: { get } as unknown as Client, namespace: 'team' };
}

const cases: [string, Router, object, Record<string, object>, string][] = [
  ['all agents', router, {}, {}, 'http://127.0.0.1:8080/mcp'],
  ['one agent', router, { agent: 'a' }, { a: {} }, 'http://127.0.0.1:8080/mcps/a/mcp'],
  [
    'a Route below a path',
    router,
    { route: 'r' },
    { r: route({ paths: ['/x/'] }) },
    'http://127.0.0.1:8080/x/mcp',
  ],
  [
    'a Route with a place of its own for MCP',
    router,
    { route: 'r' },
    { r: route({ paths: ['/x'], mcp: { path: '/' } }) },
    'http://127.0.0.1:8080/x',
  ],
  [
    'a Route with a host, at the router’s port',
    router,
    { route: 'r' },
    { r: route({ hosts: ['*.x.example', 't.x.example'] }) },
    'http://t.x.example:8080/mcp',
  ],
  [
    'the Route of a namespace, behind an Ingress',
    { url: 'https://agents.example', host: 'team.example', path: '/tools/mcp' },
    {},
    {},
    'https://team.example/tools/mcp',
  ],
];
for (const [name, where, wanted, objects, url] of cases) {
  test(`the address of ${name} is ${url}`, async () => {
    assert.equal(urlOf(await findEndpoint(where, sessionWith(objects), wanted)), url);
  });
}

const refused: [string, Router, object, Record<string, object>, number, RegExp][] = [
  ['an agent and a Route at once', router, { agent: 'a', route: 'r' }, {}, 2, /exclude each other/],
  ['an agent that is not there', router, { agent: 'a' }, {}, 4, /no agent "a" in namespace team/],
  ['a Route that is not there', router, { route: 'r' }, {}, 4, /no Route "r" in namespace team/],
  ['a Route without MCP', router, { route: 'r' }, { r: route({ mcp: undefined }) }, 4, /has no MCP endpoint/],
  [
    'a Route of patterns alone',
    router,
    { route: 'r' },
    { r: route({ hosts: ['*.x'] }) },
    4,
    /has no MCP endpoint/,
  ],
  ['a Route that is not accepted', router, { route: 'r' }, { r: route({}, {}) }, 4, /is not accepted/],
  ['one agent of a Route', { ...router, path: '/mcp' }, { agent: 'a' }, { a: {} }, 2, /one place for all/],
];
for (const [name, where, wanted, objects, code, message] of refused) {
  test(`${name} is refused in words`, async () => {
    await assert.rejects(findEndpoint(where, sessionWith(objects), wanted), (error) => {
      assert.match((error as Error).message, message);
      return exitCodeOf(error) === code;
    });
  });
}
