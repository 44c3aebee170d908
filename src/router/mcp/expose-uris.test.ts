import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { qualifyUri, readQualifiedUri } from '#routing/uris.ts';
import { changeEvent } from './answer-transform.ts';
import { exposeInMessage, exposeInResult } from './expose-uris.ts';

const qualify = (uri: string) => qualifyUri('demo', uri);
const back = (uri: string) => readQualifiedUri(uri)?.uri ?? uri;

const block = fc.oneof(
  fc.record({ type: fc.constant('resource_link'), uri: fc.string(), name: fc.string() }),
  fc.record({ type: fc.constant('resource'), resource: fc.record({ uri: fc.string(), text: fc.string() }) }),
  fc.record({ type: fc.constant('text'), text: fc.string() }),
  fc.record({
    type: fc.constant('tool_result'),
    content: fc.array(fc.record({ type: fc.constant('resource_link'), uri: fc.string() })),
  }),
);
const meta = fc.record({ ui: fc.record({ resourceUri: fc.string() }), 'ui/resourceUri': fc.string() });
const results: [string, fc.Arbitrary<Record<string, unknown>>][] = [
  ['tools/call', fc.record({ content: fc.array(block), structuredContent: fc.object(), _meta: meta })],
  [
    'prompts/get',
    fc.record({ messages: fc.array(fc.record({ role: fc.constant('user'), content: block })) }),
  ],
  [
    'resources/read',
    fc.record({ contents: fc.array(fc.record({ uri: fc.string(), text: fc.string(), _meta: meta })) }),
  ],
];

test('what is rewritten reads back as it was, and nothing else changes', () => {
  for (const [method, result] of results) {
    fc.assert(
      fc.property(result, (made) => {
        const original = JSON.parse(JSON.stringify(made));
        const exposed = exposeInResult(method, original, qualify);
        assert.deepEqual(exposeInResult(method, exposed, back), original);
        assert.deepEqual(exposed['structuredContent'], original['structuredContent']);
      }),
    );
  }
});

test('a message in which no URI changes is the same object, whatever it is', () => {
  const messages = fc.oneof(
    fc.object(),
    fc.record({ result: fc.oneof(...results.map(([, result]) => result), fc.object()) }),
  );
  fc.assert(
    fc.property(
      messages,
      fc.constantFrom('tools/call', 'prompts/get', 'resources/read', 'x'),
      (message, method) => {
        assert.equal(
          exposeInMessage(message, method, (uri) => uri),
          message,
        );
      },
    ),
  );
});

test('questions to the client name resources as the client does, in both revisions', () => {
  const link = (uri: string) => ({ type: 'resource_link', uri, name: 'x' });
  const question = (uri: string) => ({
    method: 'sampling/createMessage',
    params: { messages: [{ role: 'user', content: link(uri) }], maxTokens: 5 },
  });
  const asked = { jsonrpc: '2.0', id: 7, ...question('doc://a') };
  assert.deepEqual(exposeInMessage(asked, 'tools/call', qualify), {
    ...asked,
    ...question('ploinky://demo/doc://a'),
  });
  const parked = (uri: string) => ({ resultType: 'input_required', inputRequests: { one: question(uri) } });
  assert.deepEqual(
    exposeInResult('tools/call', parked('doc://a'), qualify),
    parked('ploinky://demo/doc://a'),
  );
});

test('an event in which nothing changes keeps its text, and one that is no JSON is dropped', () => {
  const data = '{"jsonrpc":"2.0", "id":1,\n"result":{"content":[{"type":"text","text":"x"}]}}';
  const change = { agent: 'demo', method: 'tools/call', asks: undefined, expose: qualify, maxDepth: 8 };
  assert.equal(changeEvent(change, data), `event: message\ndata: ${data.replace('\n', '\ndata: ')}\n\n`);
  assert.equal(changeEvent(change, '{'), '');
  const deep = { code: 'AgentAnswer', message: /'demo' answered JSON that nests deeper than 8 levels/ };
  assert.throws(() => changeEvent(change, '['.repeat(1_000_000)), deep);
});
