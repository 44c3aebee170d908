import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { hmacText } from './hmac.ts';

const keys = fc.uint8Array({ minLength: 1, maxLength: 100 }).map((secret) => Buffer.from(secret));

test('the tag of any text under any key is what node:crypto makes of it', () => {
  fc.assert(
    fc.property(keys, fc.array(fc.string({ unit: 'binary' }), { maxLength: 4 }), (secret, texts) => {
      const key = { kid: 'k', secret };
      for (const text of texts) {
        assert.equal(hmacText(key, text), createHmac('sha256', secret).update(text).digest('base64url'));
      }
    }),
  );
});

test('a text as long as the buffer, or longer, has the right tag too', () => {
  const key = { kid: 'k', secret: Buffer.alloc(32, 7) };
  for (const length of [4_999, 5_000, 5_001, 20_000]) {
    for (const unit of ['a', '\u20ac', '\ud83d\ude00']) {
      const text = unit.repeat(length / unit.length);
      assert.equal(hmacText(key, text), createHmac('sha256', key.secret).update(text).digest('base64url'));
    }
  }
});

test('tags of the same texts differ between keys', () => {
  const one = hmacText({ kid: 'a', secret: Buffer.alloc(32, 1) }, 'text');
  assert.notEqual(one, hmacText({ kid: 'b', secret: Buffer.alloc(32, 2) }, 'text'));
});
