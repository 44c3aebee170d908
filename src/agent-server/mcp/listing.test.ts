import assert from 'node:assert/strict';
import { test } from 'node:test';
import { emptyCatalog } from '../source.ts';
import { createListing } from './listing.ts';

const tool = (name: string, description = 'does it') => ({
  name,
  description,
  inputSchema: { type: 'object' },
});

test('a change stream can say what each tool is, and which have text that people do not see', () => {
  const plain = createListing({ ...emptyCatalog, tools: [tool('add'), tool('echo')] });
  const other = createListing({ ...emptyCatalog, tools: [tool('add', 'does it\u200B not'), tool('echo')] });
  assert.deepEqual([plain.hidden, other.hidden], [[], ['add']]);
  assert.equal(plain.tools?.['echo'], other.tools?.['echo']);
  assert.notEqual(plain.tools?.['add'], other.tools?.['add']);
});

test('more tools than fit into a line of the stream are not named', () => {
  const tools = Array.from({ length: 2_000 }, (_, index) => tool(`tool-${index}`, 'does\u202E it'));
  const listing = createListing({ ...emptyCatalog, tools });
  assert.equal(listing.tools, undefined);
  assert.equal(listing.hidden.length, 20);
});
