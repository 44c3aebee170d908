import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { cleanItem } from '#mcp/hidden-text.ts';
import { cleanOnce, isPlain } from './clean-once.ts';

test('a text that is plain hides nothing, however the text is escaped', () => {
  const unit = fc.constantFrom('a', '"', '\\', 'u', '2', '0', 'E', '\n', '\b', '\u001B', '\u202E', 'é');
  fc.assert(
    fc.property(fc.string({ unit }), fc.boolean(), (description, isEscaped) => {
      const plain = JSON.stringify({ description });
      const text = isEscaped
        ? plain.replace(/[^ -~]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`)
        : plain;
      const item = JSON.parse(text);
      if (isPlain(text)) assert.equal(cleanItem(item), item);
      assert.deepEqual(cleanOnce(item), cleanItem(item));
    }),
  );
});

test('no text takes long', { timeout: 5_000 }, () => {
  assert.equal(isPlain(`${'a\\"'.repeat(1_000_000)}\u202E`), false);
});

test('a text of many megabytes is looked through, be it plain or hidden', { timeout: 20_000 }, () => {
  for (const description of ['a'.repeat(20_000_000), '"\\'.repeat(5_000_000)]) {
    const item = { description };
    assert.equal(isPlain(JSON.stringify(item)), true);
    assert.equal(cleanOnce(item), item);
  }
  for (const hidden of ['\u202E', '\u200D', '\uFE0F']) {
    const item = { description: hidden.repeat(20_000_000) };
    assert.equal(isPlain(JSON.stringify(item)), false);
    assert.equal(cleanOnce(item).description, '');
  }
});
