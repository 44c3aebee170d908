import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { kinds } from './kinds.ts';
import { unimplementedInRoute } from './route/unimplemented.ts';
import { validSpec } from './testing/arbitrary.ts';
import { unimplementedFields } from './unimplemented.ts';
import { parseObject } from './validate.ts';

function unimplementedPaths(kind: 'Agent' | 'Route' | 'Task', spec: object): string[] {
  const object = { apiVersion: 'ploinky.dev/v1alpha1', kind, metadata: { name: 'demo' }, spec };
  const parsed = parseObject(kind, object);
  assert.ok(parsed.ok, JSON.stringify(parsed));
  return unimplementedFields(kind, parsed.object.spec).map(({ path }) => path);
}

describe('Fields that nothing carries out are named, never ignored', () => {
  const cases: readonly ['Agent' | 'Route' | 'Task', object, readonly string[]][] = [
    ['Agent', {}, []],
    ['Agent', { runtime: { class: 'Bwrap', idleAfterSeconds: 0 }, plugins: [], auth: { mode: 'none' } }, []],
    [
      'Agent',
      { runtime: { class: 'Container', image: 'x', idleAfterSeconds: 5 } },
      ['spec.runtime.class', 'spec.runtime.idleAfterSeconds'],
    ],
    ['Agent', { code: { git: { url: 'https://x' } } }, []],
    [
      'Agent',
      {
        env: [
          { name: 'A', value: '1' },
          { name: 'B', valueFrom: { alias: 'x' } },
        ],
      },
      [],
    ],
    [
      'Agent',
      { mcp: { upstream: { url: 'https://x', oauth: { mode: 'perUser' } } }, auth: { mode: 'pwd' } },
      [],
    ],
    ['Agent', { auth: { mode: 'pwd', usersSecretRef: { name: 'u' } } }, []],
    ['Agent', { sessions: {}, budget: { dailyTokens: 1 } }, ['spec.sessions', 'spec.budget']],
    ['Route', { agents: [{ name: 'a' }], mcp: {} }, []],
    [
      'Route',
      { selector: {}, mcp: { resources: {} }, backends: {}, blobs: {}, rateLimit: { requestsPerMinute: 1 } },
      ['spec.rateLimit'],
    ],
    ['Agent', { capabilities: ['zfs'] }, []],
    ['Task', { role: 'x', tool: 'y', dependsOn: [{ name: 'z' }], isolation: 'Pod' }, []],
    [
      'Task',
      {
        role: 'x',
        tool: 'y',
        approval: {},
        estimatedTokens: 1,
        parentRef: { name: 'z' },
        context: { a: 1 },
        plugins: ['p'],
      },
      ['spec.approval', 'spec.estimatedTokens', 'spec.parentRef', 'spec.context', 'spec.plugins'],
    ],
    ['Task', { role: 'x', session: { prompt: 'p', new: {} } }, ['spec.session']],
  ];
  for (const [kind, spec, expected] of cases) {
    it(`${kind} ${JSON.stringify(spec).slice(0, 90)} → ${expected.join(', ') || 'nothing'}`, () => {
      assert.deepEqual(unimplementedPaths(kind, spec).sort(), [...expected].sort());
    });
  }
});

it('what is kept of a Route’s schema for its router says the same of every Route', () => {
  const said = new Set<string>();
  const property = fc.property(validSpec(kinds.Route, { agents: [{ name: 'a' }], mcp: {} }), (spec) => {
    const fields = unimplementedFields('Route', spec);
    for (const { path } of fields) said.add(path);
    assert.deepEqual(unimplementedInRoute(spec), fields);
  });
  fc.assert(property, { numRuns: 300 });
  assert.ok(said.size >= 5, [...said].join(' '));
});
