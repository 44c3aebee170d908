import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { cleanItem } from '#mcp/hidden-text.ts';
import { cleanOnce, noteClean } from './clean-once.ts';

test('what is noted as clean is clean, however the text is escaped', () => {
  const unit = fc.constantFrom('a', '"', '\\', 'u', '2', '0', 'E', '\n', '\b', '\u001B', '\u202E', 'é');
  fc.assert(
    fc.property(fc.string({ unit }), fc.boolean(), (description, isEscaped) => {
      const plain = JSON.stringify({ description });
      const text = isEscaped
        ? plain.replace(/[^ -~]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`)
        : plain;
      const item = JSON.parse(text);
      noteClean([item], text);
      assert.deepEqual(cleanOnce(item), cleanItem(item));
    }),
  );
});

test('no text takes long', { timeout: 5_000 }, () => {
  noteClean([], `${'a\\"'.repeat(1_000_000)}\u202E`);
});

test('a text of many megabytes is looked through, be it plain or hidden', { timeout: 20_000 }, () => {
  for (const description of ['a'.repeat(20_000_000), '"\\'.repeat(5_000_000)]) {
    const item = { description };
    noteClean([item], JSON.stringify(item));
    assert.equal(cleanOnce(item), item);
  }
  for (const hidden of ['\u202E', '\u200D', '\uFE0F']) {
    const item = { description: hidden.repeat(20_000_000) };
    noteClean([item], JSON.stringify(item));
    assert.equal(cleanOnce(item).description, '');
  }
});
