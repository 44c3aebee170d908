import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TerminalError } from '#kit/errors.ts';
import { type CustomResourceDefinition, customKind } from './custom.ts';

function definition(rule: string): CustomResourceDefinition {
  return {
    spec: {
      group: 'example.org',
      scope: 'Namespaced',
      names: { kind: 'Thing', plural: 'things' },
      versions: [
        {
          name: 'v1',
          schema: {
            openAPIV3Schema: {
              type: 'object',
              properties: {
                spec: {
                  type: 'object',
                  'x-kubernetes-validations': [{ rule, message: 'no' }],
                  properties: {
                    count: { type: 'integer' },
                    'da-sh': { type: 'string' },
                    when: { type: 'string', format: 'date-time' },
                    list: {
                      type: 'array',
                      items: { type: 'object', properties: { name: { type: 'string' } } },
                    },
                  },
                },
              },
            },
          },
        },
      ],
    },
  };
}

const check = (rule: string, spec: Record<string, unknown>, old?: Record<string, unknown>) =>
  customKind(definition(rule))
    .rules?.check({ spec }, old === undefined ? undefined : { spec: old }, [])
    .map((error) => `${error.field}: ${error.message}`);

test('rules see whole numbers, escaped names and times as the schema types them', () => {
  const table: [rule: string, spec: Record<string, unknown>][] = [
    ['self.count == 3 && self.count / 2 == 1', { count: 3 }],
    ["self.da__dash__sh == 'x'", { 'da-sh': 'x' }],
    ["self.when > timestamp('2025-01-01T00:00:00Z')", { when: '2026-01-01T00:00:00Z' }],
    ["self.list.all(item, item.name.startsWith('a'))", { list: [{ name: 'ab' }] }],
    ['self.?count.orValue(7) == 7 && !has(self.list)', {}],
    ["'a,b'.split(',').size() == 2 && 'aXb'.replace('X', '-') == 'a-b' && 'k7'.find('[0-9]') == '7'", {}],
  ];
  for (const [rule, spec] of table) assert.deepEqual(check(rule, spec), [], rule);
  assert.deepEqual(check('self.count > 5', { count: 3 }), ['spec: Invalid value: no']);
});

test('a rule that cannot be run says so, it does not pass', () => {
  assert.match(check('self.count > 5', {})?.[0] ?? '', /rule evaluation error: No such key: count/);
});

test('transition rules run where there was a value; what did not change is not judged again', () => {
  assert.deepEqual(check('self.count >= oldSelf.count', { count: 1 }), []);
  assert.deepEqual(check('self.count >= oldSelf.count', { count: 1 }, { count: 2 }), [
    'spec: Invalid value: no',
  ]);
  assert.deepEqual(check('self.count > 5', { count: 1 }, { count: 1 }), []);
  assert.deepEqual(check('self.count > 5', { count: 2 }, { count: 1 }), ['spec: Invalid value: no']);
});

test('a definition with a rule outside the subset is refused at the start', () => {
  for (const rule of ['self.count >', 'quantity(self.count).isInteger()', 'unknown == 1', 'isURL(self.when)'])
    assert.throws(
      () => customKind(definition(rule)),
      (error) => error instanceof TerminalError && error.code === 'DefinitionInvalid',
      rule,
    );
});
