import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { exposeUris, qualifyUri, readQualifiedUri } from './uris.ts';

const agent = fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?$/);

test('a qualified URI is read back, whatever it was, also when it was qualified before', () => {
  const uri = fc.oneof(
    fc.string(),
    fc.string().map((text) => `ui://${text}`),
    fc.string().map((text) => `ploinky://demo/${text}`),
    fc.string().map((text) => `ui://demo.ploinky/${text}`),
  );
  fc.assert(
    fc.property(agent, uri, (name, text) => {
      assert.deepEqual(readQualifiedUri(qualifyUri(name, text)), { agent: name, uri: text });
    }),
  );
});

test('qualified URIs are URIs, and ui:// keeps its scheme', () => {
  assert.equal(qualifyUri('demo', 'file:///a/b?c#d'), 'ploinky://demo/file:///a/b?c#d');
  assert.equal(new URL(qualifyUri('demo', 'file:///a')).host, 'demo');
  assert.equal(qualifyUri('demo', 'ui://clock/view.html'), 'ui://demo.ploinky/clock/view.html');
  assert.equal(qualifyUri('demo', 'db://{table}/{id}'), 'ploinky://demo/db://{table}/{id}');
  for (const plain of [
    'file:///a',
    'ploinky://demo',
    'ploinky://De/x',
    'ui://clock/view',
    'ui://a.b.ploinky/x',
  ])
    assert.equal(readQualifiedUri(plain), undefined, plain);
});

const items = [
  { agent: 'demo', name: 'doc://a' },
  { agent: 'demo', name: 'doc://b' },
  { agent: 'other', name: 'doc://a' },
];

test('Conflict qualifies what collides, Always everything, Never lets the first agent win', () => {
  const exposed = (naming: 'Conflict' | 'Always' | 'Never') =>
    exposeUris(items, naming).items.map((item) => item.exposed);
  assert.deepEqual(exposed('Conflict'), ['ploinky://demo/doc://a', 'doc://b', 'ploinky://other/doc://a']);
  assert.deepEqual(exposed('Always'), [
    'ploinky://demo/doc://a',
    'ploinky://demo/doc://b',
    'ploinky://other/doc://a',
  ]);
  assert.deepEqual(exposed('Never'), ['doc://a', 'doc://b']);
  assert.deepEqual([...exposeUris(items, 'Never').conflicts], [['doc://a', ['demo', 'other']]]);
});

test('templates that begin alike collide', () => {
  const templates = [
    { agent: 'demo', name: 'db://{id}' },
    { agent: 'other', name: 'db://{table}/{id}' },
    { agent: 'other', name: 'log://{day}' },
  ];
  assert.deepEqual(
    exposeUris(templates, 'Conflict').items.map((item) => item.exposed),
    ['ploinky://demo/db://{id}', 'ploinky://other/db://{table}/{id}', 'log://{day}'],
  );
});

test('an agent cannot pretend to be another one by a URI that looks qualified', () => {
  const [evil] = exposeUris([{ agent: 'evil', name: 'ploinky://demo/doc://a' }], 'Conflict').items;
  assert.deepEqual(readQualifiedUri(evil?.exposed ?? ''), { agent: 'evil', uri: 'ploinky://demo/doc://a' });
});
