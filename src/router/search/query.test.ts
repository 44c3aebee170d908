import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { buildIndex, type SearchableTool } from './build-index.ts';
import { searchTools } from './query.ts';

function tool(agent: string, name: string, description = '', properties: object = {}): SearchableTool {
  return { agent, name, item: { description, inputSchema: { type: 'object', properties } } };
}

const tools = [
  tool('files', 'read_file', 'Reads a file'),
  tool('files', 'list_directory', 'Lists a directory'),
  tool('mail', 'send', 'Sends a message', { to: { type: 'string', description: 'Addresses of recipients' } }),
  tool('images', 'resize', 'Changes the size of an image'),
  tool('twins', 'one', 'Same words'),
  tool('twins', 'two', 'Same words'),
];
const index = buildIndex(tools);

function found(text: string, options: { limit?: number; agent?: string } = {}): string[] {
  return searchTools(index, text, { limit: 10, ...options }).map((match) => tools[match.tool]?.name ?? '?');
}

test('a word in a name counts more than the same word in a description', () => {
  const pair = [tool('a', 'other', 'A report'), tool('a', 'report', 'Other')];
  const [first] = searchTools(buildIndex(pair), 'report', { limit: 1 });
  assert.equal(first?.tool, 1);
});

test('parameters and the agent are searched too', () => {
  assert.deepEqual(found('recipients'), ['send']);
  assert.deepEqual(found('twins'), ['one', 'two']);
});

test('other forms, parts and everyday words find a tool', () => {
  assert.equal(found('resizing')[0], 'resize');
  assert.equal(found('a listing')[0], 'list_directory');
  assert.equal(found('folder')[0], 'list_directory');
  assert.equal(found('unread')[0], 'read_file', 'a prefix before a known word');
  assert.equal(found('what is in notes.md')[0], 'read_file', 'the shape of a file name');
});

test('without everyday words only the words themselves count', () => {
  const options = { limit: 10, everyday: new Map() };
  assert.deepEqual(searchTools(index, 'folder', options), []);
  assert.equal(searchTools(index, 'directory', options).length, 1);
});

test('equal tools keep the order of the index', () => {
  assert.deepEqual(found('same words'), ['one', 'two']);
});

test('an agent narrows the search', () => {
  assert.deepEqual(found('read list send file message', { agent: 'mail' }), ['send']);
});

test('nothing to find is no error', () => {
  assert.deepEqual(found('xyzzy'), []);
  assert.deepEqual(found('the of and'), []);
  assert.deepEqual(searchTools(buildIndex([]), 'file', { limit: 5 }), []);
});

test('an index is plain data', () => {
  assert.deepEqual(JSON.parse(JSON.stringify(index)), index);
});

test('tools that say strange things are indexed by what can be read', () => {
  const strange: SearchableTool[] = [
    { agent: 'a', name: '__proto__', item: { description: 3, inputSchema: 'no', annotations: null } },
    { agent: 'a', name: 'constructor', item: { inputSchema: { properties: { toString: 1, value: null } } } },
  ];
  const built = buildIndex(strange);
  assert.equal(searchTools(built, 'proto', { limit: 5 }).length, 1);
  assert.equal(searchTools(built, 'constructor hasOwnProperty', { limit: 5 }).length, 1);
});

test('whatever is asked, matches are sorted, unique and within the limit', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 1, max: 6 }), (text, limit) => {
      const matches = searchTools(index, `${text} file`, { limit });
      assert.ok(matches.length >= 1 && matches.length <= limit);
      assert.equal(new Set(matches.map((match) => match.tool)).size, matches.length);
      matches.reduce((before, match) => {
        assert.ok(before.score >= match.score && match.score > 0);
        return match;
      });
    }),
  );
});
